(** * What is proven: the lines that a reader has to believe

    Everything else in this folder is either checked by Rocq, or named in docs/trust.md as something that it
    does not check. A reader who agrees with the definitions below, and with nothing more, knows what an
    accepted certificate means. *)
From Coq Require Import Reals ZArith List.
Import ListNotations.

(** ** Workloads of rigid jobs *)

(** A job may start when it is submitted. It then holds its nodes for its run time, without a break. Times are
    whole numbers of ticks; the file that is checked says how many ticks a second has. *)
Record job := Job { submit : Z; runtime : Z; nodes : Z; weight : Z }.

(** A job that starts at [start] runs at the instant [t]. Starts and instants are any real numbers. *)
Definition running (j : job) (start t : R) : bool :=
  if Rle_dec start t then if Rlt_dec t (start + IZR (runtime j)) then true else false else false.

(** So many nodes are in use at the instant [t]. The lists of jobs and of starts have the same order. *)
Fixpoint nodes_in_use (jobs : list job) (starts : list R) (t : R) : Z :=
  match jobs, starts with
  | j :: js, s :: ss => (if running j s t then nodes j else 0) + nodes_in_use js ss t
  | _, _ => 0
  end.

(** In a schedule every job has a start, which is not before its submission, and no instant has more nodes in
    use than the machine has. *)
Definition is_schedule (num_nodes : Z) (jobs : list job) (starts : list R) : Prop :=
  Forall2 (fun j s => IZR (submit j) <= s)%R jobs starts /\
  forall t, (nodes_in_use jobs starts t <= num_nodes)%Z.

(** The turnaround of a job is its end minus its submission, its wait is its start minus its submission, both in
    seconds. Its slowdown is its turnaround by its run time, where ten seconds stand for shorter run times; it is 1
    at least. *)
Inductive measure := Turnaround | Wait | Slowdown.

Definition seconds (ticks : Z) (time : R) : R := time / IZR ticks.

Definition delay (ticks : Z) (m : measure) (j : job) (start : R) : R :=
  let turnaround := seconds ticks (start + IZR (runtime j) - IZR (submit j)) in
  match m with
  | Turnaround => turnaround
  | Wait => seconds ticks (start - IZR (submit j))
  | Slowdown => Rmax 1 (turnaround / Rmax (seconds ticks (IZR (runtime j))) 10)
  end.

(** The mean counts each job with its weight. *)
Fixpoint total_delay (ticks : Z) (m : measure) (jobs : list job) (starts : list R) : R :=
  match jobs, starts with
  | j :: js, s :: ss => IZR (weight j) * delay ticks m j s + total_delay ticks m js ss
  | _, _ => 0
  end.

Definition total_weight (jobs : list job) : Z := fold_right (fun j sum => (weight j + sum)%Z) 0%Z jobs.

Definition mean_delay ticks m jobs starts : R := total_delay ticks m jobs starts / IZR (total_weight jobs).

(** No schedule, whoever makes it and whatever it knows, has a mean below the fraction [bound]. *)
Definition bounds_mean_delay ticks m num_nodes jobs (bound : Z * Z) : Prop :=
  (0 < snd bound)%Z /\
  forall starts, is_schedule num_nodes jobs starts ->
    (IZR (fst bound) / IZR (snd bound) <= mean_delay ticks m jobs starts)%R.

(** A machine with several resources, of which nodes are one. In a window, some of a resource is closed. *)
Record window := Window { closes : Z; opens : Z; amount : Z }.
Record resource := Resource { total : Z; closed : list window }.

(** A job on such a machine needs some of each resource, in the order of the machine, and its start is not before
    [eligible]. *)
Record request := Request { plain : job; eligible : Z; needs : list Z }.

Definition closed_now (t : R) (w : window) : Z :=
  if Rle_dec (IZR (closes w)) t then if Rlt_dec t (IZR (opens w)) then amount w else 0 else 0.

Definition available (r : resource) (t : R) : Z :=
  Z.max 0 (total r - fold_right (fun w sum => closed_now t w + sum)%Z 0%Z (closed r)).

(** The job with what it needs of the resource with this number, as if that were nodes. *)
Definition holding (k : nat) (q : request) : job :=
  Job (submit (plain q)) (runtime (plain q)) (nth k (needs q) 0%Z) (weight (plain q)).

Definition is_schedule_on (machine : list resource) (requests : list request) (starts : list R) : Prop :=
  Forall2 (fun q s => IZR (submit (plain q)) <= s /\ IZR (eligible q) <= s)%R requests starts /\
  forall k r, nth_error machine k = Some r ->
  forall t, (nodes_in_use (map (holding k) requests) starts t <= available r t)%Z.

Definition bounds_mean_delay_on ticks m machine requests (bound : Z * Z) : Prop :=
  (0 < snd bound)%Z /\
  forall starts, is_schedule_on machine requests starts ->
    (IZR (fst bound) / IZR (snd bound) <= mean_delay ticks m (map plain requests) starts)%R.

(** In no schedule have all jobs ended before the second [bound], a fraction. *)
Definition bounds_end ticks num_nodes jobs (bound : Z * Z) : Prop :=
  (0 < snd bound)%Z /\
  forall starts last, is_schedule num_nodes jobs starts ->
    Forall2 (fun j s => seconds ticks (s + IZR (runtime j)) <= last)%R jobs starts ->
    (IZR (fst bound) / IZR (snd bound) <= last)%R.

(** A moldable job is a list of rigid ones. It runs as one of them, and the schedule chooses which. *)
Definition run_as (moldable : list (list job)) (jobs : list job) : Prop := Forall2 (fun l j => In j l) moldable jobs.

(** ** Evolution profiles that are not expanded *)

(** An application may start when it is released, and then runs through its steps of (seconds, nodes). *)
Record application := Application { release : Z; steps : list (Z * Z) }.

(** An application with these steps holds so many nodes [t] seconds after its start. *)
Fixpoint held (s : list (Z * Z)) (t : Z) : Z :=
  match s with
  | [] => 0
  | (d, n) :: r => if (t <? 0)%Z then 0 else if (t <? d)%Z then n else held r (t - d)
  end.

Fixpoint duration (s : list (Z * Z)) : Z := match s with [] => 0 | (d, _) :: r => d + duration r end.

Fixpoint nodes_held (applications : list application) (starts : list Z) (t : Z) : Z :=
  match applications, starts with
  | a :: r, x :: xs => held (steps a) (t - x) + nodes_held r xs t
  | _, _ => 0
  end.

(** The schedule ends by the second [horizon]. Applications start at whole seconds. *)
Definition ends_by (num_nodes horizon : Z) (applications : list application) (starts : list Z) : Prop :=
  Forall2 (fun a x => release a <= x /\ x + duration (steps a) <= horizon)%Z applications starts /\
  forall t, (nodes_held applications starts t <= num_nodes)%Z.

Definition bounds_makespan num_nodes applications (bound : Z) : Prop :=
  forall starts, ~ ends_by num_nodes (bound - 1) applications starts.

(** A schedule ends by [h] exactly if [h] is at least the value: the value is the least makespan. *)
Definition is_least_makespan num_nodes applications (value : Z) : Prop :=
  forall h, (exists starts, ends_by num_nodes h applications starts) <-> (value <= h)%Z.
