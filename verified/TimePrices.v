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

(** The prices [s] begin at the tick [a]. *)
Definition least_shared (unit a : Z) (s : segs) (j : job) : Z :=
  let t0 := submit j - a in
  let p := nodes j * (cum s (t0 + runtime j) - cum s t0) in
  let slope := unit * weight j in
  let d := slope * runtime j in
  let b := from t0 s in
  sweep (S (S (length b + length b))) (d + p) d p slope
    (times (nodes j) (from (runtime j) b)) (times (nodes j) b).

Lemma least_shared_ok unit a s j x :
  0 <= unit -> 0 <= weight j -> 0 <= runtime j -> 0 <= nodes j -> ok_segs s -> submit j <= x ->
  least_shared unit a s j <=
  unit * (weight j * (x + runtime j - submit j)) + nodes j * (cum s (x + runtime j - a) - cum s (x - a)).
Proof.
  intros Hu Hw Hr Hn Hs Hx. unfold least_shared. set (t0 := submit j - a).
  set (b := from t0 s). set (p := nodes j * (cum s (t0 + runtime j) - cum s t0)).
  assert (Hb : ok_segs b) by (apply from_ok, Hs).
  assert (E : forall y, 0 <= y -> cum (from (runtime j) b) y = cum s (t0 + runtime j + y) - cum s (t0 + runtime j)).
  { intros y Hy. unfold b. rewrite !cum_from by (auto; lia). rewrite Z.add_assoc. lia. }
  assert (B : forall y, 0 <= y -> cum b y = cum s (t0 + y) - cum s t0) by (intros; apply cum_from; assumption).
  destruct (sweep_ok (unit * weight j) ltac:(nia) (S (S (length b + length b)))
              (unit * weight j * runtime j + p) (unit * weight j * runtime j) p
              (times (nodes j) (from (runtime j) b)) (times (nodes j) b)) as [_ H].
  - apply times_ok; [assumption|]. apply from_ok, Hb.
  - apply times_ok; assumption.
  - intros y Hy. rewrite !cum_times, E, B by assumption. unfold p.
    pose proof (cum_mono s (t0 + y) (t0 + runtime j + y) Hs ltac:(lia)). nia.
  - specialize (H (x - submit j) ltac:(lia)). rewrite !cum_times, E, B in H by lia. unfold p in *.
    replace (t0 + runtime j + (x - submit j)) with (x + runtime j - a) in H by lia.
    replace (t0 + (x - submit j)) with (x - a) in H by lia. nia.
Qed.

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
    Some (fold_left (fun total j => total + least_shared unit a s j) jobs 0 - num_nodes * area s)
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
  enough (forall t, fold_left (fun total j => total + least_shared unit a s j) jobs t <=
          t + unit * turnaround jobs starts + paid_by_all jobs starts a s) by (specialize (H2 0); lia).
  destruct Hf as [Hst _]. clear H H1 Hr. induction Hst as [|j x js xs Hx Hst IH]; intros t;
    cbn [fold_left turnaround paid_by_all]; [lia|].
  pose proof (IH ltac:(intros; apply F; cbn; auto) (t + least_shared unit a s j)).
  destruct (F j ltac:(cbn; auto)) as (? & ? & ?).
  pose proof (least_shared_ok unit a s j x C ltac:(lia) ltac:(lia) ltac:(lia) H0 Hx). lia.
Qed.


Lemma time_price_total_valid num_nodes unit a s jobs bound : time_price_total num_nodes unit a s jobs = Some bound ->
  0 <= unit /\ Forall (fun j => 0 <= nodes j) jobs /\ Forall (fun j => 0 <= weight j) jobs.
Proof.
  unfold time_price_total. destruct (_ && _) eqn:C; [|discriminate]. intros _.
  repeat (apply andb_true_iff in C as [C ?]). apply Z.leb_le in C. split; [assumption|].
  rewrite forallb_forall in H. unfold fine in H.
  split; apply Forall_forall; intros j Hj; specialize (H j Hj); repeat (apply andb_true_iff in H as [H ?]); lia.
Qed.
