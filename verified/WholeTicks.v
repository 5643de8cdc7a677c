(** * Schedules with starts at whole ticks, and why they are enough

    The starts of any schedule may be rounded down to whole ticks: the schedule stays valid, and no job ends
    later. So a bound for starts at whole ticks is one for all starts. *)
From Coq Require Import Reals ZArith List Lia Lra Bool.
From Allocsolve Require Import Statement.
Import ListNotations.
Open Scope Z_scope.

(** So many nodes are in use at the tick [t]. *)
Fixpoint in_use (jobs : list job) (starts : list Z) (t : Z) : Z :=
  match jobs, starts with
  | j :: js, s :: ss => (if (s <=? t) && (t <? s + runtime j) then nodes j else 0) + in_use js ss t
  | _, _ => 0
  end.

(** The starts are those of a schedule. *)
Definition feasible (capacity : Z) (jobs : list job) (starts : list Z) : Prop :=
  Forall2 (fun j s => submit j <= s) jobs starts /\ (forall t, in_use jobs starts t <= capacity).

(** The sum of weight times turnaround. *)
Fixpoint turnaround (jobs : list job) (starts : list Z) : Z :=
  match jobs, starts with
  | j :: js, s :: ss => weight j * (s + runtime j - submit j) + turnaround js ss
  | _, _ => 0
  end.

(** The greatest whole tick that is not after a start. *)
Lemma floor_ok s : (IZR (Int_part s) <= s < IZR (Int_part s) + 1)%R.
Proof. destruct (base_Int_part s). lra. Qed.

(** The last of the instant [t] and the starts in the tick that begins at [t] or before: all jobs that run in that
    tick of the rounded schedule run at this instant of the schedule itself. *)
Fixpoint latest (starts : list R) (t : Z) : R :=
  match starts with
  | [] => IZR t
  | s :: ss => if (Int_part s <=? t)%Z then Rmax s (latest ss t) else latest ss t
  end.

Lemma latest_lt ss t : (latest ss t < IZR t + 1)%R.
Proof.
  induction ss; cbn; [lra|]. destruct (Z.leb_spec (Int_part a) t); [|assumption].
  apply Rmax_lub_lt; [|assumption]. destruct (floor_ok a). apply IZR_le in H. lra.
Qed.

Lemma latest_in s ss t : In s ss -> (Int_part s <= t)%Z -> (s <= latest ss t)%R.
Proof.
  induction ss; cbn; intros Hin H; [easy|]; destruct Hin as [E|E].
  - subst. destruct (Z.leb_spec (Int_part s) t); [apply Rmax_l|lia].
  - destruct (Int_part a <=? t)%Z; [eapply Rle_trans; [|apply Rmax_r]|]; auto.
Qed.

Lemma in_use_floor jobs : Forall (fun j => 0 <= nodes j)%Z jobs -> forall ss t x, (x < IZR t + 1)%R ->
  (forall s, In s ss -> (Int_part s <= t)%Z -> (s <= x)%R) ->
  (in_use jobs (map Int_part ss) t <= nodes_in_use jobs ss x)%Z.
Proof.
  induction 1 as [|j js Hj Hjs IH]; intros ss t x Hx Hs; [destruct ss; cbn; lia|].
  destruct ss as [|s ss]; cbn [map in_use nodes_in_use]; [lia|].
  specialize (IH ss t x Hx ltac:(intros; apply Hs; cbn; auto)).
  enough ((if (Int_part s <=? t) && (t <? Int_part s + runtime j) then nodes j else 0) <=
          (if running j s x then nodes j else 0))%Z by lia.
  destruct (Z.leb_spec (Int_part s) t), (Z.ltb_spec t (Int_part s + runtime j)); cbn [andb];
    try (destruct (running j s x); lia).
  assert (running j s x = true) as ->; [|lia]. unfold running.
  destruct (Rle_dec s x) as [_|N]; [|exfalso; apply N, Hs; cbn; auto].
  destruct (Rlt_dec x (s + IZR (runtime j))) as [_|N]; [reflexivity|exfalso; apply N].
  assert (IZR (t + 1) <= IZR (Int_part s + runtime j))%R by (apply IZR_le; lia).
  rewrite !plus_IZR in H1. destruct (floor_ok s). lra.
Qed.

Lemma turnaround_floor jobs : Forall (fun j => 0 <= weight j)%Z jobs -> forall ss,
  (IZR (turnaround jobs (map Int_part ss)) <= total_delay Turnaround jobs ss)%R.
Proof.
  induction 1 as [|j js Hj Hjs IH]; intros [|s ss]; cbn [map turnaround total_delay delay]; try lra.
  rewrite plus_IZR, mult_IZR, minus_IZR, plus_IZR. specialize (IH ss).
  apply IZR_le in Hj. destruct (floor_ok s). nra.
Qed.

Lemma feasible_floor capacity jobs starts : Forall (fun j => 0 <= nodes j)%Z jobs ->
  is_schedule capacity jobs starts -> feasible capacity jobs (map Int_part starts).
Proof.
  intros Hn [Hs Hu]. split.
  - clear Hu Hn. induction Hs; cbn; constructor; auto.
    destruct (floor_ok y). apply le_IZR, Rnot_lt_le. intros N. apply lt_IZR in N.
    assert (IZR (Int_part y + 1) <= IZR (submit x))%R by (apply IZR_le; lia). rewrite plus_IZR in H2. lra.
  - intros t. etransitivity; [|apply (Hu (latest starts t))].
    apply in_use_floor; [assumption|apply latest_lt|intros; apply latest_in; assumption].
Qed.

