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

(** ** What delays cost

    A delay costs [slope] for each tick of the turnaround, but at least as much as a turnaround of [shortest], all
    by [divisor]: that is a turnaround or a slowdown in units of 1 / ([unit] * [ticks]), rounded down. *)
Definition slope unit ticks m j : Z := match m with Slowdown => unit * ticks * weight j | _ => unit * weight j end.
Definition divisor ticks m j : Z := match m with Slowdown => Z.max (runtime j) (10 * ticks) | _ => 1 end.
Definition shortest ticks m j : Z := match m with Slowdown => divisor ticks m j | _ => 0 end.

Definition cost_of_delay unit ticks m j (start : Z) : Z :=
  slope unit ticks m j * Z.max (shortest ticks m j) (start + runtime j - submit j) / divisor ticks m j.

Fixpoint total_cost unit ticks m (jobs : list job) (starts : list Z) : Z :=
  match jobs, starts with
  | j :: js, s :: ss => cost_of_delay unit ticks m j s + total_cost unit ticks m js ss
  | _, _ => 0
  end.

Lemma slope_nonneg unit ticks m j : 0 <= unit -> 0 < ticks -> 0 <= weight j -> 0 <= slope unit ticks m j.
Proof. intros. destruct m; cbn [slope]; nia. Qed.

Lemma divisor_pos ticks m j : 0 < ticks -> 0 < divisor ticks m j.
Proof. intros. destruct m; cbn [divisor]; lia. Qed.

Lemma div_real a b : 0 < b -> (IZR (a / b) <= IZR a / IZR b)%R.
Proof.
  intros Hb. pose proof (Z.mul_div_le a b Hb) as H. apply IZR_le in H. rewrite mult_IZR in H.
  apply IZR_lt in Hb. apply Rmult_le_reg_l with (r := IZR b); [assumption|].
  unfold Rdiv. rewrite <- Rmult_assoc, (Rmult_comm (IZR b) (IZR a)), Rmult_assoc, Rinv_r by lra. lra.
Qed.

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

(** The cost at a start that is rounded down is at most the delay in these units; waits cost as turnarounds do. *)
Definition costed m := match m with Wait => Turnaround | _ => m end.

Lemma cost_floor unit ticks m j s : 0 <= unit -> 0 < ticks -> 0 <= weight j -> 0 <= runtime j ->
  (IZR (submit j) <= s)%R ->
  (IZR (cost_of_delay unit ticks m j (Int_part s)) <=
   IZR (unit * ticks) * (IZR (weight j) * delay ticks (costed m) j s))%R.
Proof.
  intros Hu Ht Hw Hr Hs. destruct (floor_ok s) as [F _].
  set (T := (s + IZR (runtime j) - IZR (submit j))%R).
  assert (E : (IZR (Int_part s + runtime j - submit j) <= T)%R) by (rewrite minus_IZR, plus_IZR; unfold T; lra).
  assert (P : (0 <= T)%R) by (apply IZR_le in Hr; unfold T; lra).
  pose proof (slope_nonneg unit ticks m j Hu Ht Hw) as S. pose proof (divisor_pos ticks m j Ht) as D.
  unfold cost_of_delay. eapply Rle_trans; [apply div_real, D|].
  rewrite mult_IZR. apply IZR_le in S, Hu, Hw. pose proof (IZR_lt _ _ D) as D'. pose proof (IZR_lt _ _ Ht) as T'.
  destruct m; cbn [costed delay slope shortest divisor] in *; fold T; unfold seconds.
  1, 2: rewrite !mult_IZR; assert (IZR (Z.max 0 (Int_part s + runtime j - submit j)) <= T)%R by
      (destruct (Z.max_spec 0 (Int_part s + runtime j - submit j)) as [[_ ->]|[_ ->]]; lra);
    replace (IZR unit * IZR ticks * (IZR (weight j) * (T / IZR ticks)))%R with (IZR unit * IZR (weight j) * T)%R
      by (field; lra);
    unfold Rdiv; rewrite Rinv_1, Rmult_1_r; apply Rmult_le_compat_l; [nra|assumption].
  set (d := Z.max (runtime j) (10 * ticks)) in *.
  assert (R : Rmax (IZR (runtime j) / IZR ticks) 10 = (IZR d / IZR ticks)%R).
  { unfold d. destruct (Z.max_spec (runtime j) (10 * ticks)) as [[H ->]|[H ->]].
    - apply IZR_lt in H. rewrite mult_IZR in *. rewrite Rmax_right; [field; lra|].
      apply Rmult_le_reg_r with (r := IZR ticks); [assumption|]. field_simplify; lra.
    - apply IZR_le in H. rewrite mult_IZR in H. apply Rmax_left.
      apply Rmult_le_reg_r with (r := IZR ticks); [assumption|]. field_simplify; lra. }
  rewrite R. replace (T / IZR ticks / (IZR d / IZR ticks))%R with (T / IZR d)%R by (field; lra).
  rewrite !mult_IZR.
  replace (IZR unit * IZR ticks * (IZR (weight j) * Rmax 1 (T / IZR d)))%R with
    (IZR unit * IZR ticks * IZR (weight j) * (IZR d * Rmax 1 (T / IZR d)) / IZR d)%R by (field; lra).
  unfold Rdiv at 1 3. apply Rmult_le_compat_r; [left; apply Rinv_0_lt_compat; assumption|].
  apply Rmult_le_compat_l; [apply Rmult_le_pos; [apply Rmult_le_pos|]; lra|].
  assert (K : (IZR d * (T / IZR d))%R = T) by (field; lra).
  pose proof (Rmax_l 1 (T / IZR d)). pose proof (Rmax_r 1 (T / IZR d)).
  destruct (Z.max_spec d (Int_part s + runtime j - submit j)) as [[_ ->]|[_ ->]].
  - eapply Rle_trans; [apply E|]. rewrite <- K at 1. apply Rmult_le_compat_l; lra.
  - rewrite <- (Rmult_1_r (IZR d)) at 1. apply Rmult_le_compat_l; lra.
Qed.

Lemma total_floor unit ticks m jobs : 0 <= unit -> 0 < ticks -> Forall (fun j => 0 <= weight j)%Z jobs ->
  Forall (fun j => 0 <= runtime j)%Z jobs -> forall ss, Forall2 (fun j s => IZR (submit j) <= s)%R jobs ss ->
  (IZR (total_cost unit ticks m jobs (map Int_part ss)) <= IZR (unit * ticks) * total_delay ticks (costed m) jobs ss)%R.
Proof.
  intros Hu Ht Hw Hr ss Hs. induction Hs as [|j s js ss Hjs Hs IH]; cbn [map total_cost total_delay]; [lra|].
  inversion Hw; inversion Hr; subst. rewrite plus_IZR.
  pose proof (cost_floor unit ticks m j s Hu Ht ltac:(assumption) ltac:(assumption) Hjs).
  specialize (IH ltac:(assumption) ltac:(assumption)). lra.
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

