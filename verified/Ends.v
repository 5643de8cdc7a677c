(** * The checker of ends of the last job: the longest job, the area of all, the jobs that run one by one *)
From Coq Require Import Reals ZArith List Lia Lra Bool.
From Allocsolve Require Import Statement WholeTicks LeastCost JobPrices TimePrices.
Import ListNotations.
Open Scope Z_scope.

(** Of the jobs that are submitted at some tick or later, one ends last ([Longest]), all hold nodes ([Area]), and no
    two of those run together that need more than half of the nodes each ([Wide]). *)
Inductive rule := Longest | Area | Wide.

Fixpoint least_of (f : job -> Z) (sizes : list job) : Z :=
  match sizes with [] => 0 | [j] => f j | j :: js => Z.min (f j) (least_of f js) end.

Lemma least_of_ok f sizes j : In j sizes -> least_of f sizes <= f j.
Proof.
  induction sizes as [|k [|l r] IH]; [easy| |]; intros [->|H]; cbn [least_of] in *; try easy; try lia.
  specialize (IH H). lia.
Qed.

Definition is_late (after : Z) (sizes : list job) : bool := forallb (fun j => after <=? submit j) sizes.
Definition is_wide (num_nodes : Z) (sizes : list job) : bool := forallb (fun j => num_nodes <? 2 * nodes j) sizes.

Fixpoint sum_of (f : list job -> Z) (moldable : list (list job)) : Z :=
  match moldable with [] => 0 | l :: r => f l + sum_of f r end.

Definition latest_end (late : list (list job)) : option Z :=
  fold_right (fun sizes best =>
    let ends := least_of (fun j => submit j + runtime j) sizes in
    Some match best with Some other => Z.max ends other | None => ends end) None late.

Definition area_of (j : job) : Z := nodes j * runtime j.

(** The result is at most the tick at which the last job ends. *)
Definition last_end (r : rule) (num_nodes after : Z) (moldable : list (list job)) : option Z :=
  if (0 <? num_nodes) && forallb fine_sizes moldable then
    match latest_end (filter (is_late after) moldable) with
    | None => None
    | Some longest =>
      Some match r with
      | Longest => longest
      | Area => after - - sum_of (least_of area_of) (filter (is_late after) moldable) / num_nodes
      | Wide => after + sum_of (least_of runtime) (filter (is_wide num_nodes) (filter (is_late after) moldable))
      end
    end
  else None.

Definition check_end ticks r num_nodes after moldable : option (Z * Z) :=
  if 0 <? ticks then match last_end r num_nodes after moldable with Some value => Some (value, ticks) | None => None end
  else None.

(** The same jobs with other numbers of nodes. *)
Definition with_nodes (f : job -> Z) (j : job) : job := Job (submit j) (runtime j) (f j) (weight j).

Lemma in_use_with_nodes a b f jobs : Forall (fun j => a * f j <= b * nodes j) jobs -> forall starts t,
  0 <= b -> Forall (fun j => 0 <= nodes j) jobs -> 
  a * in_use (map (with_nodes f) jobs) starts t <= b * in_use jobs starts t.
Proof.
  induction 1 as [|j js Hj Hjs IH]; intros [|s ss] t Hb Hn; cbn [map in_use]; try lia.
  inversion Hn; subst. specialize (IH ss t Hb ltac:(assumption)). cbn [with_nodes runtime nodes].
  destruct (_ && _); lia.
Qed.

Definition all_end_by (last : Z) jobs starts : Prop := Forall2 (fun j s => s + runtime j <= last) jobs starts.

(** What jobs with these nodes hold between [after] and [last]. *)
Lemma held_between f capacity jobs starts after last :
  Forall (fun j => 0 <= runtime j) jobs -> Forall (fun j => f j <> 0 -> 0 <= f j /\ after <= submit j) jobs ->
  Forall2 (fun j s => submit j <= s) jobs starts -> all_end_by last jobs starts -> after <= last ->
  (forall t, in_use (map (with_nodes f) jobs) starts t <= capacity) ->
  forall least, Forall2 (fun j c => c <= f j * runtime j) jobs least -> fold_right Z.add 0 least <= capacity * (last - after).
Proof.
  unfold all_end_by. intros Hr Hf Hs He Ha Hu least Hl.
  assert (P : paid_by_all (map (with_nodes f) jobs) starts after [(last - after, 1)] <= capacity * (last - after)).
  { replace (last - after) with (area [(last - after, 1)]) at 2 by (cbn; lia).
    apply paid_by_all_le; [|apply Forall_map; exact Hr|repeat constructor; cbn; lia].
    split; [|exact Hu]. clear - Hs. induction Hs; constructor; auto. }
  enough (fold_right Z.add 0 least <= paid_by_all (map (with_nodes f) jobs) starts after [(last - after, 1)]) by lia.
  clear P Hu. revert starts Hs He. induction Hl as [|j c js cs Hc Hl IH]; intros starts Hs He; [cbn; lia|].
  inversion Hs as [|? x ? xs Hx Hxs]; subst. inversion He as [|? ? ? ? Ex Exs]; subst.
  inversion Hr; inversion Hf as [|? ? Fj Fjs]; subst.
  specialize (IH ltac:(assumption) ltac:(assumption) xs Hxs Exs). cbn [map fold_right paid_by_all].
  cbn [with_nodes nodes runtime cum] in *.
  destruct (Z.eq_dec (f j) 0) as [E|E]; [rewrite E in *; lia|].
  destruct (Fj E). replace (clamp (x + runtime j - after) (last - after)) with (x + runtime j - after) by (unfold clamp; lia).
  replace (clamp (x - after) (last - after)) with (x - after) by (unfold clamp; lia). nia.
Qed.

(** A filtered sum is one of all jobs, of which some count nothing. *)
Lemma sum_of_filter f keep moldable : sum_of f (filter keep moldable) =
  fold_right Z.add 0 (map (fun l => if keep l then f l else 0) moldable).
Proof. induction moldable as [|l r IH]; cbn; [reflexivity|]. destruct (keep l); cbn [sum_of]; lia. Qed.

Lemma filter_filter {A} (p q : A -> bool) l : filter p (filter q l) = filter (fun x => q x && p x) l.
Proof. induction l as [|x r IH]; cbn; [reflexivity|]. destruct (q x); cbn; rewrite IH; reflexivity. Qed.

Lemma latest_end_ok after last moldable : forall jobs starts value,
  run_as moldable jobs -> Forall2 (fun j s => submit j <= s) jobs starts -> all_end_by last jobs starts ->
  Forall (fun j => 0 <= runtime j) jobs ->
  latest_end (filter (is_late after) moldable) = Some value -> value <= last /\ after <= last.
Proof.
  unfold all_end_by. induction moldable as [|l r IH]; intros jobs starts value M Hs He Hr H; [discriminate|].
  inversion M as [|? j ? js Hj Hjs]; subst. inversion Hs as [|? x ? xs Hx Hxs]; subst.
  inversion He as [|? ? ? ? Ex Exs]; subst. inversion Hr as [|? ? Rj Rjs]; subst. cbn [filter] in H.
  specialize (IH js xs). destruct (is_late after l) eqn:L; [|apply (IH value); assumption].
  unfold latest_end in *. cbn [fold_right] in H. fold (latest_end (filter (is_late after) r)) in *.
  pose proof (least_of_ok (fun j => submit j + runtime j) l j Hj) as E. cbn beta in E.
  unfold is_late in L. rewrite forallb_forall in L. specialize (L j Hj).
  injection H as <-. split; [|lia].
  destruct (latest_end _) as [other|]; [|lia].
  destruct (IH other Hjs Hxs Exs Rjs eq_refl). lia.
Qed.

Lemma last_end_ok r num_nodes after moldable value : last_end r num_nodes after moldable = Some value ->
  forall jobs starts last, run_as moldable jobs -> feasible num_nodes jobs starts -> all_end_by last jobs starts ->
  value <= last.
Proof.
  unfold last_end. destruct (_ && _) eqn:C; [|discriminate]. apply andb_true_iff in C as [N F]. apply Z.ltb_lt in N.
  destruct (latest_end _) as [longest|] eqn:L; [|discriminate].
  intros [= <-] jobs starts last M [Hs Hu] He. pose proof (run_as_fine _ _ F M) as V.
  assert (Hr : Forall (fun j => 0 <= runtime j) jobs) by (revert V; apply Forall_impl; intros; lia).
  assert (Hn : Forall (fun j => 0 <= nodes j) jobs) by (revert V; apply Forall_impl; intros; lia).
  destruct (latest_end_ok after last moldable jobs starts longest M Hs He Hr L) as [E A].
  destruct r; [assumption| |].
  - rewrite sum_of_filter. set (least := map _ moldable).
    enough (fold_right Z.add 0 least <= num_nodes * (last - after)).
    { enough (after - last <= - fold_right Z.add 0 least / num_nodes) by lia.
      apply Z.div_le_lower_bound; lia. }
    set (f := fun j => if after <=? submit j then nodes j else 0).
    apply (held_between f num_nodes jobs starts after last); try assumption.
    + apply Forall_forall. intros j Hj. rewrite Forall_forall in Hn. specialize (Hn j Hj).
      unfold f. destruct (Z.leb_spec after (submit j)); lia.
    + intros t. pose proof (in_use_with_nodes 1 1 f jobs) as U.
      specialize (U ltac:(apply Forall_forall; intros j Hj; rewrite Forall_forall in Hn; specialize (Hn j Hj);
        unfold f; destruct (after <=? submit j); lia) starts t ltac:(lia) Hn). specialize (Hu t). lia.
    + unfold least. clear - M V. induction M as [|l j ls js Hj M IH]; cbn [map]; constructor;
        inversion V; subst; [|apply IH; assumption].
      unfold f. destruct (is_late after l) eqn:L.
      * unfold is_late in L. rewrite forallb_forall in L. rewrite (L j Hj). apply (least_of_ok area_of l j Hj).
      * destruct (after <=? submit j); nia.
  - rewrite filter_filter, sum_of_filter. set (least := map _ moldable).
    enough (fold_right Z.add 0 least <= 1 * (last - after)) by lia.
    set (f := fun j => if (after <=? submit j) && (num_nodes <? 2 * nodes j) then 1 else 0).
    apply (held_between f 1 jobs starts after last); try assumption.
    + apply Forall_forall. intros j Hj. unfold f. destruct (Z.leb_spec after (submit j)); cbn [andb]; [|lia].
      destruct (_ <? _); lia.
    + intros t. pose proof (in_use_with_nodes (num_nodes + 1) 2 f jobs) as U.
      specialize (U ltac:(apply Forall_forall; intros j Hj; rewrite Forall_forall in Hn; specialize (Hn j Hj);
        unfold f; destruct (after <=? submit j), (Z.ltb_spec num_nodes (2 * nodes j)); cbn [andb]; lia)
        starts t ltac:(lia) Hn). specialize (Hu t). nia.
    + unfold least. clear - M V. induction M as [|l j ls js Hj M IH]; cbn [map]; constructor;
        inversion V; subst; [|apply IH; assumption].
      unfold f. destruct (is_late after l && is_wide num_nodes l) eqn:L.
      * apply andb_true_iff in L as [L W]. unfold is_late, is_wide in *. rewrite forallb_forall in L, W.
        rewrite (L j Hj), (W j Hj). cbn [andb]. pose proof (least_of_ok runtime l j Hj). lia.
      * destruct ((after <=? submit j) && (num_nodes <? 2 * nodes j)); lia.
Qed.

Lemma below_floor n x : (IZR n <= x)%R -> n <= Int_part x.
Proof.
  intros H. destruct (base_Int_part x). enough (n < Int_part x + 1) by lia. apply lt_IZR. rewrite plus_IZR. lra.
Qed.

Theorem rules_bound_end ticks r num_nodes after moldable bound :
  check_end ticks r num_nodes after moldable = Some bound ->
    forall jobs, run_as moldable jobs -> bounds_end ticks num_nodes jobs bound.
Proof.
  unfold check_end, bounds_end. destruct (Z.ltb_spec 0 ticks) as [T|]; [|discriminate].
  destruct (last_end r num_nodes after moldable) as [value|] eqn:H; [|discriminate].
  intros [= <-] jobs M. cbn [fst snd]. split; [assumption|]. intros starts last Hs He.
  assert (F : forallb fine_sizes moldable = true).
  { unfold last_end in H. destruct (_ && _) eqn:C; [|discriminate]. apply andb_true_iff in C. apply C. }
  pose proof (run_as_fine _ _ F M) as V.
  assert (Hn : Forall (fun j => 0 <= nodes j) jobs) by (revert V; apply Forall_impl; intros; lia).
  apply IZR_lt in T.
  pose proof (last_end_ok _ _ _ _ _ H jobs (map Int_part starts) (Int_part (IZR ticks * last)) M
    (feasible_floor _ _ _ Hn Hs)) as E.
  assert (A : all_end_by (Int_part (IZR ticks * last)) jobs (map Int_part starts)).
  { clear - T He. induction He as [|j s js ss He _ IH]; cbn [map]; constructor; [|exact IH].
    apply below_floor. rewrite plus_IZR. destruct (floor_ok s).
    assert (s + IZR (runtime j) <= IZR ticks * last)%R; [|lra].
    unfold seconds in He. apply Rmult_le_compat_l with (r := IZR ticks) in He; [|lra].
    replace (IZR ticks * ((s + IZR (runtime j)) / IZR ticks))%R with (s + IZR (runtime j))%R in He by (field; lra).
    exact He. }
  specialize (E A). apply IZR_le in E. destruct (floor_ok (IZR ticks * last)) as [G _].
  apply Rmult_le_reg_r with (r := IZR ticks); [assumption|].
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l by lra. lra.
Qed.
