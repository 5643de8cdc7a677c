(** * Bounds from one price list for all jobs: a node costs the same for everybody *)
From Coq Require Import ZArith List Lia Bool.
From Allocsolve Require Import Statement WholeTicks LeastCost JobPrices.
Import ListNotations.
Open Scope Z_scope.

Definition times (n : Z) (s : segs) : segs := map (fun p => (fst p, n * snd p)) s.

Lemma cum_times n s : forall y, cum (times n s) y = n * cum s y.
Proof. induction s as [|[l q] r IH]; intros y; cbn [times map cum fst snd]; [lia|]. fold (times n r). rewrite IH.
  lia. Qed.

Lemma times_ok n s : 0 <= n -> ok_segs s -> ok_segs (times n s).
Proof. intros Hn H. induction H as [|[l q] r [H1 H2] _ IH]; cbn; constructor; auto. cbn in *. nia. Qed.

(** This is [sweep] with all prices multiplied by the nodes of the job, without lists of the products. *)
Fixpoint sweep_nodes (fuel : nat) (n best d p c : Z) (e b : segs) : Z :=
  let best := Z.min best (d + p) in
  if best <=? d then best else
  match fuel with
  | O => d
  | S fuel =>
    match b, e with
    | [], _ => best
    | (lb, qb) :: rb, [] => sweep_nodes fuel n best (d + c * lb) (p - n * qb * lb) c [] rb
    | (lb, qb) :: rb, (le, qe) :: re =>
      if lb <=? le
      then sweep_nodes fuel n best (d + c * lb) (p + (n * qe - n * qb) * lb) c
             (if lb =? le then re else (le - lb, qe) :: re) rb
      else sweep_nodes fuel n best (d + c * le) (p + (n * qe - n * qb) * le) c re ((lb - le, qb) :: rb)
    end
  end.

Lemma sweep_nodes_eq n c fuel : forall best d p e b,
  sweep_nodes fuel n best d p c e b = sweep fuel best d p c (times n e) (times n b).
Proof.
  induction fuel as [|fuel IH]; intros best d p e b; cbn [sweep_nodes sweep]; [reflexivity|].
  destruct (_ <=? d); [reflexivity|].
  destruct b as [|[lb qb] rb], e as [|[le qe] re]; cbn [times map fst snd]; try reflexivity.
  - apply IH.
  - destruct (lb <=? le); [|rewrite IH; reflexivity]. rewrite IH. destruct (lb =? le); reflexivity.
Qed.

(** The first part of a price list costs this much; the rest of the list is not read. *)
Fixpoint cum_until (s : segs) (y : Z) : Z :=
  if y <=? 0 then 0 else
  match s with
  | [] => 0
  | (l, q) :: r => q * clamp y l + cum_until r (y - l)
  end.

Lemma cum_until_eq s : ok_segs s -> forall y, cum_until s y = cum s y.
Proof.
  induction 1 as [|[l q] r H Hr IH]; intros y; cbn [cum_until]; destruct (Z.leb_spec y 0) as [L|L];
    rewrite ?IH; try (rewrite cum_neg; [reflexivity|assumption|constructor; assumption]); try reflexivity.
Qed.

(** The prices [s] begin at the tick [a], and [b] is the rest of them from the tick [t] on. *)
Definition rest_from (a : Z) (s : segs) (t : Z) (b : segs) : Prop :=
  ok_segs b /\ forall y, 0 <= y -> cum b y = cum s (t - a + y) - cum s (t - a).

Lemma rest_from_later a s t b u : rest_from a s t b -> t <= u -> rest_from a s u (from (u - t) b).
Proof.
  intros [Hb H] Hu. split; [apply from_ok, Hb|]. intros y Hy. rewrite cum_from, !H by (assumption || lia).
  replace (t - a + (u - t + y)) with (u - a + y) by lia. replace (t - a + (u - t)) with (u - a) by lia. lia.
Qed.

Lemma rest_from_any a s u : ok_segs s -> rest_from a s u (from (u - a) s).
Proof. intros H. split; [apply from_ok, H|]. intros y Hy. apply cum_from; assumption. Qed.

(** The prices [b] begin when the job is submitted. *)
Definition least_shared (unit : Z) (fuel : nat) (b : segs) (j : job) : Z :=
  let p := nodes j * cum_until b (runtime j) in
  let slope := unit * weight j in
  let d := slope * runtime j in
  sweep_nodes fuel (nodes j) (d + p) d p slope (from (runtime j) b) b.

Lemma least_shared_ok unit fuel a s b j x :
  0 <= unit -> 0 <= weight j -> 0 <= runtime j -> 0 <= nodes j -> ok_segs s -> rest_from a s (submit j) b ->
  submit j <= x ->
  least_shared unit fuel b j <=
  unit * (weight j * (x + runtime j - submit j)) + nodes j * (cum s (x + runtime j - a) - cum s (x - a)).
Proof.
  intros Hu Hw Hr Hn Hs [Hb B] Hx. unfold least_shared. rewrite sweep_nodes_eq, cum_until_eq by assumption.
  set (t0 := submit j - a) in *. set (p := nodes j * cum b (runtime j)).
  assert (P : p = nodes j * (cum s (t0 + runtime j) - cum s t0)) by (unfold p; rewrite B by assumption; reflexivity).
  assert (E : forall y, 0 <= y -> cum (from (runtime j) b) y = cum s (t0 + runtime j + y) - cum s (t0 + runtime j)).
  { intros y Hy. rewrite cum_from by assumption. rewrite !B by lia. rewrite Z.add_assoc. lia. }
  destruct (sweep_ok (unit * weight j) ltac:(nia) fuel
              (unit * weight j * runtime j + p) (unit * weight j * runtime j) p
              (times (nodes j) (from (runtime j) b)) (times (nodes j) b)) as [_ H].
  - apply times_ok; [assumption|]. apply from_ok, Hb.
  - apply times_ok; assumption.
  - intros y Hy. rewrite !cum_times, E, B by assumption. rewrite P.
    pose proof (cum_mono s (t0 + y) (t0 + runtime j + y) Hs ltac:(lia)). nia.
  - specialize (H (x - submit j) ltac:(lia)). rewrite !cum_times, E, B in H by lia. rewrite P in *.
    replace (t0 + runtime j + (x - submit j)) with (x + runtime j - a) in H by lia.
    replace (t0 + (x - submit j)) with (x - a) in H by lia. nia.
Qed.

(** Jobs that are listed in the order of their submissions walk along the prices; others start from the begin. *)
Fixpoint least_of_all (unit : Z) (fuel : nat) (a : Z) (s : segs) (t : Z) (b : segs) (jobs : list job) (total : Z) : Z :=
  match jobs with
  | [] => total
  | j :: js =>
    let own := if t <=? submit j then from (submit j - t) b else from (submit j - a) s in
    least_of_all unit fuel a s (submit j) own js (total + least_shared unit fuel own j)
  end.

(** All jobs together pay this much. *)
Fixpoint paid_by_all (jobs : list job) (starts : list Z) (a : Z) (s : segs) : Z :=
  match jobs, starts with
  | j :: js, x :: xs => nodes j * (cum s (x + runtime j - a) - cum s (x - a)) + paid_by_all js xs a s
  | _, _ => 0
  end.

Lemma paid_by_all_cons jobs : forall starts a l q r, Forall (fun j => 0 <= runtime j) jobs -> 0 <= l ->
  paid_by_all jobs starts a ((l, q) :: r) =
  q * upto (Z.to_nat l) (fun i => in_use jobs starts (a + i)) + paid_by_all jobs starts (a + l) r.
Proof.
  induction jobs as [|j js IH]; intros starts a l q r Hr Hl; cbn [paid_by_all in_use].
  - assert (upto (Z.to_nat l) (fun _ => 0) = 0) as -> by (induction (Z.to_nat l); cbn [upto]; lia). lia.
  - destruct starts as [|x xs].
    { assert (upto (Z.to_nat l) (fun _ => 0) = 0) as -> by (induction (Z.to_nat l); cbn [upto]; lia). lia. }
    inversion Hr as [|? ? Hj Hjs]; subst. rewrite (IH xs a l q r Hjs Hl). cbn [cum].
    replace (x + runtime j - a - l) with (x + runtime j - (a + l)) by lia.
    replace (x - a - l) with (x - (a + l)) by lia.
    enough (nodes j * (clamp (x + runtime j - a) l - clamp (x - a) l) +
            upto (Z.to_nat l) (fun i => in_use js xs (a + i)) =
            upto (Z.to_nat l) (fun i => (if (x <=? a + i) && (a + i <? x + runtime j) then nodes j else 0) +
                                        in_use js xs (a + i))) as <- by ring.
    replace l with (Z.of_nat (Z.to_nat l)) at 1 2 by lia. rewrite !clamp_upto.
    induction (Z.to_nat l) as [|m IHm]; cbn [upto]; [lia|]. rewrite <- IHm.
    destruct (Z.ltb_spec (Z.of_nat m) (x + runtime j - a)), (Z.ltb_spec (Z.of_nat m) (x - a)),
      (Z.leb_spec x (a + Z.of_nat m)), (Z.ltb_spec (a + Z.of_nat m) (x + runtime j)); cbn [andb]; lia.
Qed.

Fixpoint area (s : segs) : Z := match s with [] => 0 | (l, q) :: r => l * q + area r end.

Lemma paid_by_all_le num_nodes jobs starts s : feasible num_nodes jobs starts ->
  Forall (fun j => 0 <= runtime j) jobs ->
  ok_segs s -> forall a, paid_by_all jobs starts a s <= num_nodes * area s.
Proof.
  intros [_ Hf] Hr Hs. induction Hs as [|[l q] r [Hl Hq] Hs IH]; intros a; cbn [area fst snd] in *.
  - enough (paid_by_all jobs starts a [] = 0) by lia. clear Hf Hr. revert starts.
    induction jobs; destruct starts; cbn [paid_by_all cum]; auto.
    rewrite IHjobs. lia.
  - rewrite paid_by_all_cons by assumption. specialize (IH (a + l)).
    pose proof (upto_le (Z.to_nat l) (fun i => in_use jobs starts (a + i)) num_nodes (fun i => Hf (a + i))).
    rewrite Z2Nat.id in H by assumption. nia.
Qed.

Definition fine (j : job) : bool := (0 <=? runtime j) && (0 <=? weight j) && (0 <=? nodes j).

Definition time_price_total (num_nodes unit a : Z) (s : segs) (jobs : list job) : option Z :=
  if (0 <=? unit) && ok_segsb s && forallb fine jobs then
    Some (least_of_all unit (S (S (length s + length s))) a s a s jobs 0 - num_nodes * area s)
  else None.

Theorem time_price_total_ok num_nodes unit a s jobs bound :
  time_price_total num_nodes unit a s jobs = Some bound ->
  forall starts, feasible num_nodes jobs starts -> bound <= unit * turnaround jobs starts.
Proof.
  unfold time_price_total. destruct (_ && _) eqn:C; [|discriminate]. intros [= <-] starts Hf.
  repeat (apply andb_true_iff in C as [C ?]). apply Z.leb_le in C. apply ok_segsb_ok in H0.
  rewrite forallb_forall in H. unfold fine in H.
  assert (F : forall j, In j jobs -> 0 <= runtime j /\ 0 <= weight j /\ 0 <= nodes j).
  { intros j Hj. specialize (H j Hj). repeat (apply andb_true_iff in H as [H ?]). lia. }
  assert (Hr : Forall (fun j => 0 <= runtime j) jobs) by (apply Forall_forall; intros; apply F; assumption).
  pose proof (paid_by_all_le num_nodes jobs starts s Hf Hr H0 a).
  set (fuel := S (S (length s + length s))).
  enough (forall u b t, rest_from a s u b -> least_of_all unit fuel a s u b jobs t <=
          t + unit * turnaround jobs starts + paid_by_all jobs starts a s) as G.
  { specialize (G a s 0). enough (rest_from a s a s) as R by (specialize (G R); lia).
    split; [assumption|]. intros y Hy. rewrite Z.sub_diag, Z.add_0_l, (cum_neg s 0) by (assumption || lia). lia. }
  destruct Hf as [Hst _]. clear H H1 Hr.
  induction Hst as [|j x js xs Hx Hst IH]; intros u b t R; cbn [least_of_all turnaround paid_by_all]; [lia|].
  set (own := if u <=? submit j then from (submit j - u) b else from (submit j - a) s).
  assert (O : rest_from a s (submit j) own).
  { unfold own. destruct (Z.leb_spec u (submit j)); [apply rest_from_later|apply rest_from_any]; assumption. }
  pose proof (IH ltac:(intros; apply F; cbn; auto) (submit j) own (t + least_shared unit fuel own j) O).
  destruct (F j ltac:(cbn; auto)) as (? & ? & ?).
  pose proof (least_shared_ok unit fuel a s own j x C ltac:(lia) ltac:(lia) ltac:(lia) H0 O Hx). lia.
Qed.


Lemma time_price_total_valid num_nodes unit a s jobs bound : time_price_total num_nodes unit a s jobs = Some bound ->
  0 <= unit /\ Forall (fun j => 0 <= nodes j) jobs /\ Forall (fun j => 0 <= weight j) jobs.
Proof.
  unfold time_price_total. destruct (_ && _) eqn:C; [|discriminate]. intros _.
  repeat (apply andb_true_iff in C as [C ?]). apply Z.leb_le in C. split; [assumption|].
  rewrite forallb_forall in H. unfold fine in H.
  split; apply Forall_forall; intros j Hj; specialize (H j Hj); repeat (apply andb_true_iff in H as [H ?]); lia.
Qed.
