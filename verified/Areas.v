(** * The checker of makespans by areas: what is released from some second on needs its nodes and seconds after it *)
From Coq Require Import ZArith List Lia Bool.
From Allocsolve Require Import Statement LeastCost JobPrices Clauses Makespan.
Import ListNotations.
Open Scope Z_scope.

(** Node-seconds of steps. *)
Fixpoint steps_area (s : list (Z * Z)) : Z := match s with [] => 0 | (d, n) :: r => d * n + steps_area r end.

(** Node-seconds of the applications that are released at [after] or later. *)
Fixpoint area_from (after : Z) (apps : list application) : Z :=
  match apps with
  | [] => 0
  | a :: r => (if after <=? release a then steps_area (steps a) else 0) + area_from after r
  end.

(** No schedule ends before the release of an application plus its duration, nor plus the area from there on by all
    nodes. *)
Definition bound_at num_nodes apps (a : application) : Z :=
  release a + Z.max (duration (steps a)) (- (- area_from (release a) apps / num_nodes)).

Definition check_areas num_nodes (apps : list application) : option Z :=
  match apps with
  | [] => None
  | a :: r =>
    if (0 <? num_nodes) && forallb good_app apps then
      Some (fold_left (fun best b => Z.max best (bound_at num_nodes apps b)) r (bound_at num_nodes apps a))
    else None
  end.

Lemma fold_max_in f r : forall a best, fold_left (fun best (b : application) => Z.max best (f b)) r best = a ->
  a = best \/ exists b, In b r /\ a = f b.
Proof.
  induction r as [|b r IH]; cbn [fold_left]; intros a best H; [auto|].
  destruct (IH _ _ H) as [E|[c [Hc E]]]; [|right; exists c; cbn; auto].
  destruct (Z.max_spec best (f b)) as [[_ M]|[_ M]]; rewrite M in E; [right; exists b; cbn; auto|auto].
Qed.

Lemma upto_plus n f g : upto n (fun i => f i + g i) = upto n f + upto n g.
Proof. induction n; cbn [upto]; lia. Qed.

Lemma upto_ext n f g : (forall i, f i = g i) -> upto n f = upto n g.
Proof. intros H. induction n; cbn [upto]; rewrite ?H; lia. Qed.

Lemma upto_times n c f : upto n (fun i => c * f i) = c * upto n f.
Proof. induction n; cbn [upto]; lia. Qed.

(** Steps that run within [n] seconds hold their area in them. *)
Lemma held_sum n s : forallb (fun s => (0 <? fst s) && (0 <=? snd s)) s = true ->
  forall y, 0 <= y -> y + duration s <= Z.of_nat n -> upto n (fun i => held s (i - y)) = steps_area s.
Proof.
  induction s as [|[d k] r IH]; intros H y Hy Hn.
  - cbn [held steps_area]. clear. induction n; cbn [upto]; lia.
  - cbn [forallb fst snd duration steps_area] in *. apply andb_true_iff in H as [H Hr].
    apply andb_true_iff in H as [H _]. apply Z.ltb_lt in H. pose proof (length_nonneg r Hr).
    rewrite <- (IH Hr (y + d)) by lia.
    rewrite (upto_ext n _ (fun i => k * ((if i <? y + d then 1 else 0) + - (if i <? y then 1 else 0)) + held r (i - (y + d)))).
    + rewrite upto_plus, upto_times, upto_plus.
      rewrite (upto_ext n (fun i => - (if i <? y then 1 else 0)) (fun i => -1 * (if i <? y then 1 else 0))) by (intros; lia).
      rewrite upto_times, <- !clamp_upto. unfold clamp. rewrite !Z.max_r, !Z.min_l by lia. lia.
    + intros i. cbn [held]. replace (i - (y + d)) with (i - y - d) by lia.
      destruct (Z.ltb_spec (i - y) 0), (Z.ltb_spec i y), (Z.ltb_spec i (y + d)), (Z.ltb_spec (i - y) d); try lia;
        rewrite ?(held_before r) by lia; lia.
Qed.

Lemma held_nonneg s : forallb (fun s => (0 <? fst s) && (0 <=? snd s)) s = true -> forall t, 0 <= held s t.
Proof.
  induction s as [|[d k] r IH]; intros H t; cbn [held]; [lia|].
  cbn [forallb fst snd] in H. apply andb_true_iff in H as [H Hr]. apply andb_true_iff in H as [_ H].
  apply Z.leb_le in H. destruct (t <? 0); [lia|]. destruct (t <? d); [assumption|apply IH, Hr].
Qed.

Lemma area_held after horizon apps starts : forallb good_app apps = true -> after <= horizon ->
  Forall2 (fun a x => release a <= x /\ x + duration (steps a) <= horizon) apps starts ->
  area_from after apps <= upto (Z.to_nat (horizon - after)) (fun i => nodes_held apps starts (after + i)).
Proof.
  intros H Hh F. set (n := Z.to_nat (horizon - after)). assert (N : Z.of_nat n = horizon - after) by (unfold n; lia).
  clearbody n. induction F as [|a x apps starts [Hr He] F IH]; cbn [area_from nodes_held].
  - clear. induction n; cbn [upto]; lia.
  - cbn [forallb] in H. apply andb_true_iff in H as [Ha H]. specialize (IH H). unfold good_app in Ha.
    rewrite upto_plus. destruct (Z.leb_spec after (release a)) as [L|L].
    + rewrite (upto_ext n (fun i => held (steps a) (after + i - x)) (fun i => held (steps a) (i - (x - after))))
        by (intros i; replace (after + i - x) with (i - (x - after)) by lia; reflexivity).
      rewrite held_sum by (assumption || lia). lia.
    + enough (0 <= upto n (fun i => held (steps a) (after + i - x))) by lia.
      clear - Ha. induction n as [|m IHm]; cbn [upto]; [lia|].
      pose proof (held_nonneg _ Ha (after + Z.of_nat m - x)). lia.
Qed.

Lemma in_window horizon apps starts b :
  Forall2 (fun a x => release a <= x /\ x + duration (steps a) <= horizon) apps starts -> In b apps ->
  release b + duration (steps b) <= horizon.
Proof. intros F. induction F as [|a x apps starts H F IH]; [easy|]. intros [<-|Hb]; [lia|apply IH, Hb]. Qed.

Theorem areas_bound_makespan num_nodes applications value :
  check_areas num_nodes applications = Some value -> bounds_makespan num_nodes applications value.
Proof.
  unfold check_areas. destruct applications as [|a r]; [discriminate|]. set (apps := a :: r) in *.
  destruct (_ && _) eqn:C; [|discriminate]. apply andb_true_iff in C as [N G]. apply Z.ltb_lt in N.
  intros [= E] starts [F U].
  assert (B : exists b, In b apps /\ value = bound_at num_nodes apps b).
  { destruct (fold_max_in _ _ _ _ E) as [->|[b [Hb ->]]]; [exists a|exists b]; unfold apps; cbn; auto. }
  destruct B as [b [Hb ->]]. clear E. set (horizon := bound_at num_nodes apps b - 1) in *.
  assert (W : release b + duration (steps b) <= horizon).
  { apply (in_window horizon apps starts); assumption. }
  rewrite forallb_forall in G. pose proof (length_nonneg _ (G b Hb)) as D. rewrite <- forallb_forall in G.
  pose proof (area_held (release b) horizon apps starts G ltac:(lia) F) as A.
  pose proof (upto_le (Z.to_nat (horizon - release b)) (fun i => nodes_held apps starts (release b + i)) num_nodes
    (fun i => U (release b + i))) as K.
  rewrite Z2Nat.id in K by lia.
  assert (- (horizon - release b) <= - area_from (release b) apps / num_nodes) by (apply Z.div_le_lower_bound; lia).
  unfold horizon, bound_at in *. lia.
Qed.

Theorem schedule_and_areas_are_optimal num_nodes value applications best :
  check_schedule num_nodes value applications best = true ->
  check_areas num_nodes applications = Some value -> is_least_makespan num_nodes applications value.
Proof. intros H1 H2. apply (least_of_both _ _ _ best H1). apply areas_bound_makespan, H2. Qed.
