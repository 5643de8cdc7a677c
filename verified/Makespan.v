(** * Makespans: a schedule from above, a refutation from below *)
From Coq Require Import ZArith List Lia Bool FMapPositive.
From Allocsolve Require Import Statement Clauses Refutation.
Import ListNotations.
Open Scope Z_scope.

(** ** A schedule that ends by a horizon *)

Fixpoint fits (num_nodes : Z) apps starts (t : Z) (n : nat) : bool :=
  match n with
  | O => true
  | S n => if nodes_held apps starts t <=? num_nodes then fits num_nodes apps starts (t + 1) n else false
  end.

Fixpoint in_windows (horizon : Z) (apps : list application) (starts : list Z) : bool :=
  match apps, starts with
  | [], [] => true
  | a :: r, x :: xs => (0 <=? release a) && (release a <=? x) && (x + duration (steps a) <=? horizon) &&
    in_windows horizon r xs
  | _, _ => false
  end.

Definition check_schedule num_nodes horizon apps starts : bool :=
  (0 <=? num_nodes) && forallb good_app apps && in_windows horizon apps starts &&
  fits num_nodes apps starts 0 (Z.to_nat horizon).

Lemma held_before s t : t < 0 -> held s t = 0.
Proof. destruct s as [|[d n] r]; cbn [held]; intros; [reflexivity|]. destruct (Z.ltb_spec t 0); [reflexivity|lia].
  Qed.

Lemma held_after s : forallb (fun s => (0 <? fst s) && (0 <=? snd s)) s = true ->
  forall t, duration s <= t -> held s t = 0.
Proof.
  induction s as [|[d n] r IH]; intros H t Ht; [reflexivity|]. cbn [held duration] in *.
  cbn in H. apply andb_true_iff in H as [H Hr]. apply andb_true_iff in H as [H _]. apply Z.ltb_lt in H.
  pose proof (length_nonneg r Hr). destruct (Z.ltb_spec t 0); [reflexivity|]. destruct (Z.ltb_spec t d); [lia|].
  apply IH; [assumption|lia].
Qed.

Lemma fits_ok num_nodes apps starts n : forall t, fits num_nodes apps starts t n = true ->
  forall u, t <= u < t + Z.of_nat n -> nodes_held apps starts u <= num_nodes.
Proof.
  induction n; intros t H u Hu; [lia|]. cbn [fits] in H.
  destruct (Z.leb_spec (nodes_held apps starts t) num_nodes); [|discriminate].
  destruct (Z.eq_dec u t) as [->|]; [assumption|]. apply (IHn (t + 1) H). lia.
Qed.

Theorem check_schedule_ok num_nodes horizon apps starts :
  check_schedule num_nodes horizon apps starts = true -> ends_by num_nodes horizon apps starts.
Proof.
  unfold check_schedule. intros H. repeat (apply andb_true_iff in H as [H ?]). apply Z.leb_le in H.
  assert (W : Forall2 (fun a x => release a <= x /\ x + duration (steps a) <= horizon) apps starts /\
              Forall2 (fun a x => 0 <= x) apps starts).
  { clear H0 H2. revert starts H1. induction apps as [|a r IH]; intros [|x xs] K; cbn in K; try discriminate;
    [split; constructor|].
    repeat (apply andb_true_iff in K as [K ?]). destruct (IH _ H0). apply Z.leb_le in K, H1, H2.
    split; constructor; auto; lia. }
  destruct W as [W1 W2]. split; [assumption|]. intros t.
  destruct (Z_lt_ge_dec t 0) as [L|L]; [|destruct (Z_lt_ge_dec t horizon) as [U|U]].
  - enough (nodes_held apps starts t = 0) by lia. clear - W2 L. induction W2; cbn [nodes_held]; [reflexivity|].
    rewrite held_before, IHW2 by lia. reflexivity.
  - apply (fits_ok _ _ _ _ _ H0). lia.
  - enough (nodes_held apps starts t = 0) by lia. clear - W1 U H2. induction W1; cbn [nodes_held]; [reflexivity|].
    cbn in H2. apply andb_true_iff in H2 as [Ha Hr]. rewrite held_after, IHW1 by (auto; lia). reflexivity.
Qed.

(** A schedule that ends by [value], where none ends before. *)
Lemma least_of_both num_nodes value apps best :
  check_schedule num_nodes value apps best = true -> bounds_makespan num_nodes apps value ->
  is_least_makespan num_nodes apps value.
Proof.
  intros H1 H2 h. split.
  - intros [starts [Hw Hu]]. destruct (Z_le_gt_dec value h); [assumption|exfalso].
    apply (H2 starts). split; [|assumption]. clear - Hw g. induction Hw; constructor; auto. lia.
  - intros Hh. exists best. destruct (check_schedule_ok _ _ _ _ H1) as [Hw Hu]. split; [|assumption].
    clear - Hw Hh. induction Hw; constructor; auto. lia.
Qed.

(** A refutation of clauses, all of which hold if a schedule ends before the second [value]. *)
Definition check_refutation num_nodes value applications m cnf lines : bool :=
  check_cnf num_nodes (value - 1) applications m cnf && refutes (numbered 1 cnf (PositiveMap.empty _)) lines.

Theorem refutation_bounds_makespan num_nodes value applications m cnf lines :
  check_refutation num_nodes value applications m cnf lines = true -> bounds_makespan num_nodes applications value.
Proof.
  intros H starts. apply andb_true_iff in H as [H R]. apply (check_cnf_ok _ _ _ _ _ H).
  apply refuted with (lines := lines), R.
Qed.

Theorem schedule_and_refutation_are_optimal num_nodes value applications best m cnf lines :
  check_schedule num_nodes value applications best = true ->
  check_refutation num_nodes value applications m cnf lines = true ->
  is_least_makespan num_nodes applications value.
Proof.
  intros H1 H. apply (least_of_both _ _ _ _ H1), (refutation_bounds_makespan _ _ _ _ _ _ H).
Qed.
