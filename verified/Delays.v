(** * The checkers of mean turnarounds and waits, and why they are right *)
From Coq Require Import Reals ZArith List Lia Lra Bool.
From Allocsolve Require Import Statement WholeTicks LeastCost JobPrices TimePrices.
Import ListNotations.

(** The run times of all jobs, times their weights: turnaround and wait differ by them, whatever the schedule. *)
Definition weighted_runtimes (jobs : list job) : Z :=
  fold_left (fun sum j => (sum + weight j * runtime j)%Z) jobs 0%Z.

(** A bound on [unit] times the total turnaround becomes a fraction that bounds the mean. *)
Definition mean_of_total (ticks : Z) (m : measure) (unit : Z) (jobs : list job) (total : option Z) : option (Z * Z) :=
  match total with
  | None => None
  | Some sum =>
    let weights := fold_left (fun sum j => (sum + weight j)%Z) jobs 0%Z in
    if ((0 <? unit) && (0 <? ticks) && (0 <? weights))%Z then
      Some ((match m with Turnaround => sum | Wait => sum - unit * weighted_runtimes jobs end)%Z,
        (unit * (ticks * weights))%Z)
    else None
  end.

Definition check_job_prices ticks m num_nodes unit divisor jobs slots : option (Z * Z) :=
  mean_of_total ticks m unit jobs (job_price_total num_nodes unit divisor jobs slots).

Definition check_time_prices ticks m num_nodes unit first prices jobs : option (Z * Z) :=
  mean_of_total ticks m unit jobs (time_price_total num_nodes unit first prices jobs).

Lemma fold_sum (f : job -> Z) jobs : forall sum,
  fold_left (fun sum j => (sum + f j)%Z) jobs sum = (sum + fold_right (fun j sum => f j + sum) 0 jobs)%Z.
Proof. induction jobs as [|j js IH]; intros sum; cbn; [lia|]. rewrite IH. lia. Qed.

Lemma total_wait jobs starts : Forall2 (fun j s => IZR (submit j) <= s)%R jobs starts ->
  total_delay Wait jobs starts = (total_delay Turnaround jobs starts - IZR (weighted_runtimes jobs))%R.
Proof.
  unfold weighted_runtimes. rewrite (fold_sum (fun j => weight j * runtime j)%Z). rewrite Z.add_0_l.
  induction 1 as [|j s js ss _ _ IH]; cbn [total_delay delay fold_right]; [lra|].
  rewrite IH, plus_IZR, mult_IZR. lra.
Qed.

Lemma total_of_all_starts num_nodes unit jobs sum :
  (0 <= unit)%Z -> Forall (fun j => 0 <= nodes j)%Z jobs -> Forall (fun j => 0 <= weight j)%Z jobs ->
  (forall starts, feasible num_nodes jobs starts -> (sum <= unit * turnaround jobs starts)%Z) ->
  forall starts, is_schedule num_nodes jobs starts -> (IZR sum <= IZR unit * total_delay Turnaround jobs starts)%R.
Proof.
  intros Hu Hn Hw H starts Hs. specialize (H _ (feasible_floor _ _ _ Hn Hs)).
  apply IZR_le in H. rewrite mult_IZR in H. pose proof (turnaround_floor jobs Hw starts).
  apply IZR_le in Hu. nra.
Qed.

Lemma mean_of_total_ok ticks m num_nodes unit jobs total bound :
  (forall sum, total = Some sum -> forall starts, is_schedule num_nodes jobs starts ->
     (IZR sum <= IZR unit * total_delay Turnaround jobs starts)%R) ->
  mean_of_total ticks m unit jobs total = Some bound -> bounds_mean_delay ticks m num_nodes jobs bound.
Proof.
  unfold mean_of_total, bounds_mean_delay, mean_delay. intros H. destruct total as [sum|]; [|discriminate].
  rewrite (fold_sum weight), Z.add_0_l. fold (total_weight jobs).
  destruct (Z.ltb_spec 0 unit) as [Hu|]; [|discriminate].
  destruct (Z.ltb_spec 0 ticks) as [Ht|]; [|discriminate].
  destruct (Z.ltb_spec 0 (total_weight jobs)) as [Hw|]; [|discriminate].
  cbn [andb]. set (weights := (ticks * total_weight jobs)%Z). assert (0 < weights)%Z as Hp by (unfold weights; nia).
  intros [= <-]. cbn [fst snd]. split; [nia|]. intros starts Hs. specialize (H _ eq_refl _ Hs).
  apply IZR_lt in Hu, Hp. rewrite (mult_IZR unit).
  assert (K : (IZR match m with Turnaround => sum | Wait => sum - unit * weighted_runtimes jobs end <=
               IZR unit * total_delay m jobs starts)%R).
  { destruct m; [exact H|]. rewrite (total_wait _ _ (proj1 Hs)), minus_IZR, mult_IZR. lra. }
  apply Rmult_le_reg_r with (r := (IZR unit * IZR weights)%R); [nra|].
  unfold Rdiv. rewrite Rmult_assoc, Rinv_l by nra. field_simplify; lra.
Qed.

Theorem job_prices_bound_mean_delay ticks m num_nodes unit divisor jobs slots bound :
  check_job_prices ticks m num_nodes unit divisor jobs slots = Some bound ->
    bounds_mean_delay ticks m num_nodes jobs bound.
Proof.
  apply mean_of_total_ok. intros sum H. destruct (job_price_total_valid _ _ _ _ _ _ H) as (Hu & Hn & Hw).
  apply total_of_all_starts; auto. apply (job_price_total_ok _ _ _ _ _ _ H).
Qed.

Theorem time_prices_bound_mean_delay ticks m num_nodes unit first prices jobs bound :
  check_time_prices ticks m num_nodes unit first prices jobs = Some bound ->
    bounds_mean_delay ticks m num_nodes jobs bound.
Proof.
  apply mean_of_total_ok. intros sum H. destruct (time_price_total_valid _ _ _ _ _ _ H) as (Hu & Hn & Hw).
  apply total_of_all_starts; auto. apply (time_price_total_ok _ _ _ _ _ _ H).
Qed.
