(** * The checkers of mean turnarounds, waits and slowdowns, and why they are right *)
From Coq Require Import Reals ZArith List Lia Lra Bool.
From Allocsolve Require Import Statement WholeTicks LeastCost JobPrices TimePrices.
Import ListNotations.

(** The run times of all jobs, times their weights: turnaround and wait differ by them, whatever the schedule. *)
Definition weighted_runtimes (jobs : list job) : Z :=
  fold_left (fun sum j => (sum + weight j * runtime j)%Z) jobs 0%Z.

(** A bound on the total cost becomes a fraction that bounds the mean. *)
Definition mean_of_total (ticks : Z) (m : measure) (unit : Z) (jobs : list job) (total : option Z) : option (Z * Z) :=
  match total with
  | None => None
  | Some sum =>
    let weights := fold_left (fun sum j => (sum + weight j)%Z) jobs 0%Z in
    if ((0 <? unit) && (0 <? ticks) && (0 <? weights))%Z then
      Some ((match m with Wait => sum - unit * weighted_runtimes jobs | _ => sum end)%Z, (unit * (ticks * weights))%Z)
    else None
  end.

Definition check_job_prices ticks m num_nodes unit divisor jobs slots : option (Z * Z) :=
  mean_of_total ticks m unit jobs (job_price_total ticks m num_nodes unit divisor jobs slots).

Definition check_time_prices ticks m num_nodes unit first prices jobs : option (Z * Z) :=
  mean_of_total ticks m unit jobs (time_price_total ticks m num_nodes unit first prices (map (fun j => [j]) jobs)).

(** The sizes of a moldable job have the same weight: its first one stands for it. *)
Definition firsts (moldable : list (list job)) : list job := flat_map (firstn 1) moldable.

Definition check_moldable_time_prices ticks num_nodes unit first prices moldable : option (Z * Z) :=
  mean_of_total ticks Turnaround unit (firsts moldable)
    (time_price_total ticks Turnaround num_nodes unit first prices moldable).

Lemma fold_sum (f : job -> Z) jobs : forall sum,
  fold_left (fun sum j => (sum + f j)%Z) jobs sum = (sum + fold_right (fun j sum => f j + sum) 0 jobs)%Z.
Proof. induction jobs as [|j js IH]; intros sum; cbn; [lia|]. rewrite IH. lia. Qed.

Lemma total_wait ticks jobs starts : (0 < ticks)%Z -> Forall2 (fun j s => IZR (submit j) <= s)%R jobs starts ->
  (IZR ticks * total_delay ticks Wait jobs starts =
   IZR ticks * total_delay ticks Turnaround jobs starts - IZR (weighted_runtimes jobs))%R.
Proof.
  intros Ht. apply IZR_lt in Ht.
  unfold weighted_runtimes. rewrite (fold_sum (fun j => weight j * runtime j)%Z). rewrite Z.add_0_l.
  induction 1 as [|j s js ss _ _ IH]; cbn [total_delay delay fold_right]; [lra|].
  rewrite !Rmult_plus_distr_l, IH, plus_IZR, mult_IZR. unfold seconds. field. lra.
Qed.

Lemma total_of_all_starts num_nodes unit ticks m jobs sum : valid unit ticks jobs ->
  (forall starts, feasible num_nodes jobs starts -> (sum <= total_cost unit ticks m jobs starts)%Z) ->
  forall starts, is_schedule num_nodes jobs starts ->
    (IZR sum <= IZR (unit * ticks) * total_delay ticks (costed m) jobs starts)%R.
Proof.
  intros (Hu & Ht & V) H starts Hs.
  assert (V' : Forall (fun j => 0 <= runtime j)%Z jobs /\ Forall (fun j => 0 <= weight j)%Z jobs /\
               Forall (fun j => 0 <= nodes j)%Z jobs)
    by (repeat split; revert V; apply Forall_impl; intros; lia).
  destruct V' as (Hr & Hw & Hn).
  specialize (H _ (feasible_floor _ _ _ Hn Hs)). apply IZR_le in H.
  pose proof (total_floor unit ticks m jobs Hu Ht Hw Hr starts (proj1 Hs)). lra.
Qed.

Lemma mean_of_total_any (scheduled : list R -> Prop) ticks m unit jobs total bound :
  (forall starts, scheduled starts -> Forall2 (fun j s => IZR (submit j) <= s)%R jobs starts) ->
  (forall sum, total = Some sum -> forall starts, scheduled starts ->
     (IZR sum <= IZR (unit * ticks) * total_delay ticks (costed m) jobs starts)%R) ->
  mean_of_total ticks m unit jobs total = Some bound ->
  (0 < snd bound)%Z /\
  forall starts, scheduled starts -> (IZR (fst bound) / IZR (snd bound) <= mean_delay ticks m jobs starts)%R.
Proof.
  unfold mean_of_total, mean_delay. intros S H. destruct total as [sum|]; [|discriminate].
  rewrite (fold_sum weight), Z.add_0_l. fold (total_weight jobs).
  destruct (Z.ltb_spec 0 unit) as [Hu|]; [|discriminate].
  destruct (Z.ltb_spec 0 ticks) as [Ht|]; [|discriminate].
  destruct (Z.ltb_spec 0 (total_weight jobs)) as [Hw|]; [|discriminate].
  cbn [andb]. set (weights := total_weight jobs) in *.
  intros [= <-]. cbn [fst snd]. split; [nia|]. intros starts Hs. specialize (H _ eq_refl _ Hs).
  pose proof (total_wait ticks jobs starts Ht (S starts Hs)) as W.
  apply IZR_lt in Hu, Ht, Hw. rewrite !mult_IZR. rewrite mult_IZR in H.
  assert (K : (IZR match m with Wait => sum - unit * weighted_runtimes jobs | _ => sum end <=
               IZR unit * IZR ticks * total_delay ticks m jobs starts)%R).
  { destruct m; try exact H. rewrite minus_IZR, mult_IZR, Rmult_assoc, W. cbn [costed] in H. lra. }
  apply Rmult_le_reg_r with (r := (IZR unit * (IZR ticks * IZR weights))%R);
    [repeat apply Rmult_lt_0_compat; assumption|].
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l; [|repeat apply Rmult_integral_contrapositive_currified; lra].
  replace (total_delay ticks m jobs starts * / IZR weights * (IZR unit * (IZR ticks * IZR weights)))%R
    with (IZR unit * IZR ticks * total_delay ticks m jobs starts)%R by (field; lra). lra.
Qed.

Lemma mean_of_total_ok ticks m num_nodes unit jobs total bound :
  (forall sum, total = Some sum -> forall starts, is_schedule num_nodes jobs starts ->
     (IZR sum <= IZR (unit * ticks) * total_delay ticks (costed m) jobs starts)%R) ->
  mean_of_total ticks m unit jobs total = Some bound -> bounds_mean_delay ticks m num_nodes jobs bound.
Proof. apply mean_of_total_any. intros starts Hs. apply Hs. Qed.

Theorem job_prices_bound_mean_delay ticks m num_nodes unit divisor jobs slots bound :
  check_job_prices ticks m num_nodes unit divisor jobs slots = Some bound ->
    bounds_mean_delay ticks m num_nodes jobs bound.
Proof.
  apply mean_of_total_ok. intros sum H. apply total_of_all_starts.
  - apply (job_price_total_valid _ _ _ _ _ _ _ _ H).
  - apply (job_price_total_ok _ _ _ _ _ _ _ _ H).
Qed.

Lemma time_price_total_valid ticks m num_nodes unit first prices moldable sum :
  time_price_total ticks m num_nodes unit first prices moldable = Some sum ->
  forallb fine_sizes moldable = true /\ forall jobs, run_as moldable jobs -> valid unit ticks jobs.
Proof.
  unfold time_price_total. destruct (_ && _)%bool eqn:C; [|discriminate]. intros _.
  repeat (apply andb_true_iff in C as [C ?]). apply Z.leb_le in C. apply Z.ltb_lt in H1. split; [assumption|].
  intros jobs M. split; [assumption|split; [assumption|]]. apply (run_as_fine _ _ H M).
Qed.

Lemma run_as_rigid jobs : run_as (map (fun j => [j]) jobs) jobs.
Proof. induction jobs; constructor; cbn; auto. Qed.

Theorem time_prices_bound_mean_delay ticks m num_nodes unit first prices jobs bound :
  check_time_prices ticks m num_nodes unit first prices jobs = Some bound ->
    bounds_mean_delay ticks m num_nodes jobs bound.
Proof.
  apply mean_of_total_ok. intros sum H. apply total_of_all_starts.
  - apply (proj2 (time_price_total_valid _ _ _ _ _ _ _ _ H)), run_as_rigid.
  - intros starts. apply (time_price_total_ok _ _ _ _ _ _ _ _ H), run_as_rigid.
Qed.

Lemma weight_of_firsts moldable jobs : forallb fine_sizes moldable = true -> run_as moldable jobs ->
  total_weight (firsts moldable) = total_weight jobs.
Proof.
  intros H R. induction R as [|l j ls js Hj R IH]; [reflexivity|].
  cbn [forallb] in H. apply andb_true_iff in H as [H F]. destruct l as [|k ks]; [easy|].
  destruct (fine_sizes_ok k ks j H Hj) as (_ & _ & W). specialize (IH F).
  change (firsts ((k :: ks) :: ls)) with (k :: firsts ls). unfold total_weight in *. cbn [fold_right].
  rewrite IH, W. reflexivity.
Qed.

Theorem moldable_time_prices_bound_mean_turnaround ticks num_nodes unit first prices moldable bound :
  check_moldable_time_prices ticks num_nodes unit first prices moldable = Some bound ->
    forall jobs, run_as moldable jobs -> bounds_mean_delay ticks Turnaround num_nodes jobs bound.
Proof.
  unfold check_moldable_time_prices. intros H jobs M.
  destruct (time_price_total _ _ _ _ _ _ _) as [sum|] eqn:T; [|discriminate].
  destruct (time_price_total_valid _ _ _ _ _ _ _ _ T) as [F V].
  apply (mean_of_total_ok _ _ _ unit _ (Some sum)).
  - intros sum' [= <-]. apply total_of_all_starts; [apply V, M|].
    intros starts. apply (time_price_total_ok _ _ _ _ _ _ _ _ T), M.
  - rewrite <- H. unfold mean_of_total. rewrite !(fold_sum weight), !Z.add_0_l.
    fold (total_weight jobs). fold (total_weight (firsts moldable)).
    rewrite (weight_of_firsts _ _ F M). reflexivity.
Qed.
