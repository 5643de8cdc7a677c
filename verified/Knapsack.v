(** * What jobs that run at the same time can pay at most: a knapsack without repetition *)
From Coq Require Import ZArith List Lia Bool.
Import ListNotations.
Open Scope Z_scope.

Record item := Item { who : positive; size : Z; cost : Z }.
Record slot := Slot { s_begin : Z; s_len : Z; s_items : list item }.

Fixpoint chosen (f : item -> bool) (v : item -> Z) (l : list item) : Z :=
  match l with [] => 0 | it :: r => (if f it then v it else 0) + chosen f v r end.

(** The entry [c] of a list is the greatest sum of costs of items whose sizes sum up to at most [c]. *)
Fixpoint merge (old shifted : list Z) (q : Z) : list Z :=
  match old, shifted with
  | a :: o, b :: s => Z.max a (b + q) :: merge o s q
  | _, _ => []
  end.

Fixpoint step (n : nat) (old whole : list Z) (q : Z) : list Z :=
  match n, old with
  | O, _ => merge old whole q
  | S n, a :: o => a :: step n o whole q
  | S _, [] => []
  end.

Definition best_sums (cap : nat) (items : list item) : list Z :=
  fold_right (fun it best => step (Z.to_nat (size it)) best best (cost it)) (repeat 0 (S cap)) items.

Lemma merge_length old : forall shifted q, (length old <= length shifted)%nat ->
  length (merge old shifted q) = length old.
Proof. induction old; destruct shifted; cbn; intros; try lia. rewrite IHold; lia. Qed.

Lemma step_length n : forall old whole q, (length old <= length whole)%nat ->
  length (step n old whole q) = length old.
Proof.
  induction n; cbn; intros old whole q H; [apply merge_length, H|].
  destruct old; cbn in *; [reflexivity|]. rewrite IHn; lia.
Qed.

Lemma nth_merge old : forall shifted q c, (c < length old)%nat -> (length old <= length shifted)%nat ->
  nth c (merge old shifted q) 0 = Z.max (nth c old 0) (nth c shifted 0 + q).
Proof.
  induction old; destruct shifted, c; cbn; intros; try lia. apply IHold; lia.
Qed.

Lemma nth_step n : forall old whole q c, (c < length old)%nat -> (length old <= length whole)%nat ->
  nth c (step n old whole q) 0 =
  if (c <? n)%nat then nth c old 0 else Z.max (nth c old 0) (nth (c - n) whole 0 + q).
Proof.
  induction n; intros old whole q c Hc Hl.
  - cbn [step]. rewrite Nat.sub_0_r. apply nth_merge; assumption.
  - destruct old; cbn in Hc, Hl; [lia|]. destruct c; cbn [step nth]; [reflexivity|].
    rewrite IHn by lia. reflexivity.
Qed.

Lemma best_sums_length cap items : length (best_sums cap items) = S cap.
Proof.
  induction items; cbn [best_sums fold_right]; [apply repeat_length|].
  fold (best_sums cap items). rewrite step_length; auto.
Qed.

Lemma chosen_nonneg f v l : Forall (fun it => 0 <= v it) l -> 0 <= chosen f v l.
Proof. induction 1; cbn; [lia|]. destruct (f x); lia. Qed.

Lemma best_sums_ok f cap items : Forall (fun it => 0 <= size it) items ->
  forall c, (c <= cap)%nat -> chosen f size items <= Z.of_nat c ->
  chosen f cost items <= nth c (best_sums cap items) 0.
Proof.
  induction 1 as [|it r Hs Hr IH]; intros c Hc Hf.
  - cbn [chosen best_sums fold_right]. clear. revert c. induction (S cap); destruct c; cbn; auto; lia.
  - cbn [best_sums fold_right chosen] in *. fold (best_sums cap r).
    rewrite nth_step by (rewrite best_sums_length; lia).
    pose proof (chosen_nonneg f size r Hr).
    destruct (f it).
    + destruct (Nat.ltb_spec c (Z.to_nat (size it))); [lia|].
      specialize (IH (c - Z.to_nat (size it))%nat ltac:(lia) ltac:(lia)). lia.
    + specialize (IH c Hc ltac:(lia)). destruct (c <? _)%nat; lia.
Qed.

Definition dearest (cap : Z) (items : list item) : Z :=
  if chosen (fun _ => true) size items <=? cap then chosen (fun _ => true) cost items
  else nth (Z.to_nat cap) (best_sums (Z.to_nat cap) items) 0.

Lemma chosen_all f v l : Forall (fun it => 0 <= v it) l -> chosen f v l <= chosen (fun _ => true) v l.
Proof. induction 1; cbn; [lia|]. destruct (f x); lia. Qed.

Lemma dearest_ok f cap items :
  0 <= cap -> Forall (fun it => 0 <= size it) items -> Forall (fun it => 0 <= cost it) items ->
  chosen f size items <= cap -> chosen f cost items <= dearest cap items.
Proof.
  intros Hc Hs Hq Hf. unfold dearest.
  destruct (Z.leb_spec (chosen (fun _ => true) size items) cap).
  - apply chosen_all, Hq.
  - apply best_sums_ok; auto; lia.
Qed.

