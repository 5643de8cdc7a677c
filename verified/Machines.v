(** * The checker of bounds from prices of several resources, and why it is right

    A job pays for all that it holds, and all jobs together pay at most what the machine can earn, resource by
    resource. *)
From Coq Require Import Reals ZArith List Lia Lra Bool.
From Allocsolve Require Import Statement WholeTicks LeastCost JobPrices TimePrices Delays.
Import ListNotations.
Open Scope Z_scope.

(** ** Prices *)

(** A piece has a length and the price of each resource in it. Pieces follow one another. *)
Definition pieces := list (Z * list Z).

Fixpoint sum_to (n : nat) (f : nat -> Z) : Z := match n with O => 0 | S m => f m + sum_to m f end.

(** The prices of one resource, and what a job pays for all that it holds. *)
Definition column (k : nat) (ps : pieces) : segs := map (fun p => (fst p, nth k (snd p) 0)) ps.
Definition composite (n : nat) (q : request) (ps : pieces) : segs :=
  map (fun p => (fst p, sum_to n (fun k => nth k (needs q) 0 * nth k (snd p) 0))) ps.

Lemma sum_to_ext n f g : (forall k, f k = g k) -> sum_to n f = sum_to n g.
Proof. intros H. induction n; cbn [sum_to]; rewrite ?H; lia. Qed.

Lemma sum_to_plus n f g : sum_to n (fun k => f k + g k) = sum_to n f + sum_to n g.
Proof. induction n; cbn [sum_to]; lia. Qed.

Lemma sum_to_times n c f : sum_to n (fun k => c * f k) = c * sum_to n f.
Proof. induction n; cbn [sum_to]; lia. Qed.

Lemma sum_to_le n f g : (forall k, (k < n)%nat -> f k <= g k) -> sum_to n f <= sum_to n g.
Proof. intros H. induction n; cbn [sum_to]; [lia|]. pose proof (H n ltac:(lia)). specialize (IHn ltac:(auto)). lia. Qed.

Lemma cum_composite n q ps : forall y,
  cum (composite n q ps) y = sum_to n (fun k => nth k (needs q) 0 * cum (column k ps) y).
Proof.
  induction ps as [|[l prices] r IH]; intros y; cbn [composite column map cum fst snd].
  - induction n; cbn [sum_to]; lia.
  - fold (composite n q r). rewrite IH.
    rewrite (sum_to_ext n (fun k => nth k (needs q) 0 * (nth k prices 0 * clamp y l + cum _ _))
      (fun k => clamp y l * (nth k (needs q) 0 * nth k prices 0) + nth k (needs q) 0 * cum (column k r) (y - l))).
    + rewrite sum_to_plus, sum_to_times. lia.
    + intros k. unfold column. ring.
Qed.

(** ** What is there *)

Definition closed_at (t : Z) (w : window) : Z := if (closes w <=? t) && (t <? opens w) then amount w else 0.
Definition available_at (r : resource) (t : Z) : Z :=
  Z.max 0 (total r - fold_right (fun w sum => closed_at t w + sum) 0 (closed r)).

(** So much is there at most in a piece from [b] on: windows that have all of it are closed. *)
Definition closed_all (b l : Z) (w : window) : Z := if (closes w <=? b) && (b + l <=? opens w) then amount w else 0.
Definition most (r : resource) (b l : Z) : Z :=
  Z.max 0 (total r - fold_right (fun w sum => closed_all b l w + sum) 0 (closed r)).

Lemma most_ok r b l t : Forall (fun w => 0 <= amount w) (closed r) -> b <= t < b + l -> available_at r t <= most r b l.
Proof.
  intros H Ht. unfold available_at, most.
  enough (fold_right (fun w sum => closed_all b l w + sum) 0 (closed r) <=
          fold_right (fun w sum => closed_at t w + sum) 0 (closed r)) by lia.
  induction H as [|w ws Hw H IH]; cbn [fold_right]; [lia|]. unfold closed_all at 1, closed_at at 1.
  destruct (Z.leb_spec (closes w) b), (Z.leb_spec (b + l) (opens w)), (Z.leb_spec (closes w) t),
    (Z.ltb_spec t (opens w)); cbn [andb]; lia.
Qed.

Fixpoint earned (r : resource) (k : nat) (b : Z) (ps : pieces) : Z :=
  match ps with [] => 0 | (l, prices) :: rest => l * nth k prices 0 * most r b l + earned r k (b + l) rest end.

Lemma upto_below n f w : (forall i, 0 <= i < Z.of_nat n -> f i <= w) -> upto n f <= Z.of_nat n * w.
Proof.
  intros. induction n; [cbn; lia|]. cbn [upto]. specialize (IHn ltac:(intros; apply H; lia)).
  specialize (H (Z.of_nat n) ltac:(lia)). nia.
Qed.

Definition fine_piece (p : Z * list Z) : bool := (0 <=? fst p) && forallb (fun q => 0 <=? q) (snd p).

Lemma fine_piece_ok p k : fine_piece p = true -> 0 <= fst p /\ 0 <= nth k (snd p) 0.
Proof.
  unfold fine_piece. intros H. apply andb_true_iff in H as [H1 H2]. split; [lia|].
  rewrite forallb_forall in H2. destruct (nth_in_or_default k (snd p) 0) as [I| ->]; [|lia]. specialize (H2 _ I). lia.
Qed.

Lemma paid_le_earned r k jobs starts ps : Forall (fun j => 0 <= runtime j) jobs ->
  Forall (fun w => 0 <= amount w) (closed r) -> (forall t, in_use jobs starts t <= available_at r t) ->
  forallb fine_piece ps = true -> forall b, paid_by_all jobs starts b (column k ps) <= earned r k b ps.
Proof.
  intros Hr Hw Hu. induction ps as [|[l prices] rest IH]; intros F b; cbn [column map earned fst snd].
  - enough (paid_by_all jobs starts b [] = 0) by lia. clear. revert starts.
    induction jobs; destruct starts; cbn [paid_by_all cum]; auto. rewrite IHjobs. lia.
  - cbn [forallb] in F. apply andb_true_iff in F as [P F].
    destruct (fine_piece_ok _ k P) as [Hl Hq]. cbn [fst snd] in *.
    rewrite paid_by_all_cons by assumption. fold (column k rest). specialize (IH F (b + l)).
    pose proof (upto_below (Z.to_nat l) (fun i => in_use jobs starts (b + i)) (most r b l)) as K.
    specialize (K ltac:(intros i Hi; etransitivity; [apply Hu|apply most_ok; [assumption|lia]])).
    rewrite Z2Nat.id in K by assumption. nia.
Qed.

(** ** The checker *)

Definition release_of (q : request) : Z := Z.max (submit (plain q)) (eligible q).

Definition fine_request (q : request) : bool :=
  (0 <=? runtime (plain q)) && (0 <=? weight (plain q)) && forallb (fun n => 0 <=? n) (needs q).

Fixpoint least_on unit ticks w (n : nat) (a : Z) (ps : pieces) (requests : list request) (sum : Z) : Z :=
  match requests with
  | [] => sum
  | q :: qs =>
    least_on unit ticks w n a ps qs (sum + least_later unit ticks w (plain q) (release_of q - submit (plain q))
      (composite n q ps) (release_of q - a))
  end.

Fixpoint earned_by (machine : list resource) (k : nat) (a : Z) (ps : pieces) : Z :=
  match machine with [] => 0 | r :: rest => earned r k a ps + earned_by rest (S k) a ps end.

Definition machine_price_total ticks w machine unit a ps requests : option Z :=
  if (0 <=? unit) && (0 <? ticks) && forallb fine_piece ps && forallb fine_request requests &&
     forallb (fun r => forallb (fun w => 0 <=? amount w) (closed r)) machine then
    Some (least_on unit ticks w (length machine) a ps requests 0 - earned_by machine 0 a ps)
  else None.

Definition check_machine_prices ticks m machine unit first ps requests : option (Z * Z) :=
  mean_of_total ticks m unit (map plain requests) (machine_price_total ticks m machine unit first ps requests).

(** ** Why it is right *)

Lemma composite_ok n q ps : forallb fine_piece ps = true -> fine_request q = true -> ok_segs (composite n q ps).
Proof.
  intros F Q. unfold composite, ok_segs. apply Forall_forall. intros s Hs. apply in_map_iff in Hs as [p [<- Hp]].
  rewrite forallb_forall in F. specialize (F p Hp). cbn [fst snd]. split; [apply (fine_piece_ok p 0 F)|].
  unfold fine_request in Q. apply andb_true_iff in Q as [_ Q]. rewrite forallb_forall in Q.
  induction n as [|n IH]; cbn [sum_to]; [lia|]. destruct (fine_piece_ok p n F) as [_ P].
  assert (0 <= nth n (needs q) 0).
  { destruct (nth_in_or_default n (needs q) 0) as [I| ->]; [|lia]. specialize (Q _ I). lia. }
  nia.
Qed.

Definition feasible_on (machine : list resource) (requests : list request) (starts : list Z) : Prop :=
  Forall2 (fun q s => release_of q <= s) requests starts /\
  forall k r, nth_error machine k = Some r -> forall t, in_use (map (holding k) requests) starts t <= available_at r t.

Lemma least_on_ok unit ticks w n a ps requests : 0 <= unit -> 0 < ticks -> forallb fine_piece ps = true ->
  forallb fine_request requests = true -> forall starts sum, Forall2 (fun q s => release_of q <= s) requests starts ->
  least_on unit ticks w n a ps requests sum <= sum + total_cost unit ticks w (map plain requests) starts +
    sum_to n (fun k => paid_by_all (map (holding k) requests) starts a (column k ps)).
Proof.
  intros Hu Ht F. induction requests as [|q qs IH]; intros Q starts sum Hs; inversion Hs as [|? x ? xs Hx Hxs]; subst;
    cbn [least_on total_cost map].
  - enough (sum_to n (fun k => paid_by_all [] [] a (column k ps)) = 0) by lia.
    clear. induction n as [|n IH]; cbn [sum_to]; [reflexivity|rewrite IH; reflexivity].
  - cbn [forallb] in Q. apply andb_true_iff in Q as [Q Qs].
    assert (V : 0 <= runtime (plain q) /\ 0 <= weight (plain q)).
    { unfold fine_request in Q. repeat (apply andb_true_iff in Q as [Q ?]). lia. }
    set (least := least_later unit ticks w (plain q) (release_of q - submit (plain q)) (composite n q ps) (release_of q - a)).
    specialize (IH Qs xs (sum + least) Hxs).
    pose proof (least_later_ok unit ticks w (plain q) (release_of q - submit (plain q)) (composite n q ps) a x Hu Ht
      ltac:(lia) ltac:(lia) ltac:(unfold release_of; lia) (composite_ok n q ps F Q) ltac:(lia)) as L.
    replace (submit (plain q) + (release_of q - submit (plain q)) - a) with (release_of q - a) in L by lia.
    fold least in L. rewrite !cum_composite in L.
    cbn [paid_by_all]. rewrite sum_to_plus.
    rewrite (sum_to_ext n (fun k => nodes (holding k q) * _) (fun k =>
      nth k (needs q) 0 * cum (column k ps) (x + runtime (plain q) - a) +
      -1 * (nth k (needs q) 0 * cum (column k ps) (x - a)))) by (intros k; cbn [holding nodes runtime]; ring).
    rewrite sum_to_plus, sum_to_times. lia.
Qed.

Lemma earned_by_ok machine ps a (f : nat -> Z) : forall k,
  (forall i r, nth_error machine i = Some r -> f (k + i)%nat <= earned r (k + i) a ps) ->
  sum_to (length machine) (fun i => f (k + i)%nat) <= earned_by machine k a ps.
Proof.
  induction machine as [|r rest IH]; intros k H; cbn [length earned_by]; [cbn; lia|].
  assert (E : forall n, sum_to (S n) (fun i => f (k + i)%nat) = f k + sum_to n (fun i => f (S k + i)%nat)).
  { induction n as [|n IHn]; [cbn [sum_to]; rewrite Nat.add_0_r; lia|]. 
    cbn [sum_to] in *. rewrite IHn. replace (k + S n)%nat with (S k + n)%nat by lia. lia. }
  rewrite E. pose proof (H 0%nat r eq_refl) as H0. rewrite Nat.add_0_r in H0.
  enough (sum_to (length rest) (fun i => f (S k + i)%nat) <= earned_by rest (S k) a ps) by lia.
  apply IH. intros i r' Hi. specialize (H (S i) r' Hi). replace (S k + i)%nat with (k + S i)%nat by lia. exact H.
Qed.

Theorem machine_price_total_ok ticks w machine unit a ps requests bound :
  machine_price_total ticks w machine unit a ps requests = Some bound ->
  (0 <= unit /\ 0 < ticks /\ forallb fine_request requests = true) /\
  forall starts, feasible_on machine requests starts -> bound <= total_cost unit ticks w (map plain requests) starts.
Proof.
  unfold machine_price_total. destruct (_ && _) eqn:C; [|discriminate]. intros [= <-].
  apply andb_true_iff in C as [C W]. apply andb_true_iff in C as [C Q]. apply andb_true_iff in C as [C F].
  apply andb_true_iff in C as [Hu Ht]. apply Z.leb_le in Hu. apply Z.ltb_lt in Ht.
  split; [auto|]. intros starts [Hs H].
  pose proof (least_on_ok unit ticks w (length machine) a ps requests Hu Ht F Q starts 0 Hs) as L.
  pose proof (earned_by_ok machine ps a (fun k => paid_by_all (map (holding k) requests) starts a (column k ps)) 0) as E.
  cbn [Nat.add] in E. enough (sum_to (length machine) (fun k => paid_by_all (map (holding k) requests) starts a (column k ps)) <=
    earned_by machine 0 a ps) by lia.
  apply E. intros k r Hk. apply paid_le_earned; [| |apply H, Hk|exact F].
  - apply Forall_map. rewrite forallb_forall in Q. apply Forall_forall. intros q Hq. specialize (Q q Hq).
    unfold fine_request in Q. repeat (apply andb_true_iff in Q as [Q ?]). cbn [holding runtime]. lia.
  - rewrite forallb_forall in W. specialize (W r (nth_error_In _ _ Hk)). rewrite forallb_forall in W.
    apply Forall_forall. intros v Hv. specialize (W v Hv). lia.
Qed.

Lemma available_floor r x t : (IZR t <= x < IZR t + 1)%R -> available r x = available_at r t.
Proof.
  intros H. unfold available, available_at. do 2 f_equal. induction (closed r) as [|w ws IH]; cbn [fold_right]; [reflexivity|].
  rewrite IH. f_equal. unfold closed_now, closed_at.
  assert (B : forall n, (IZR n <= x)%R <-> n <= t).
  { intros n. split; intros K.
    - enough (n < t + 1) by lia. apply lt_IZR. rewrite plus_IZR. lra.
    - apply IZR_le in K. lra. }
  destruct (Rle_dec (IZR (closes w)) x) as [A|A], (Z.leb_spec (closes w) t) as [A'|A']; cbn [andb];
    try reflexivity; try (apply B in A; lia); try (exfalso; apply A, B; lia).
  destruct (Rlt_dec x (IZR (opens w))) as [D|D], (Z.ltb_spec t (opens w)) as [D'|D']; try reflexivity.
  - apply B in D'. lra.
  - exfalso. apply D. apply Rnot_le_lt. intros K. apply B in K. lia.
Qed.

Lemma latest_ge ss t : (IZR t <= latest ss t)%R.
Proof.
  induction ss as [|s ss IH]; cbn [latest]; [lra|]. destruct (Int_part s <=? t); [|assumption].
  eapply Rle_trans; [exact IH|apply Rmax_r].
Qed.

Lemma feasible_on_floor machine requests starts : forallb fine_request requests = true ->
  is_schedule_on machine requests starts -> feasible_on machine requests (map Int_part starts).
Proof.
  intros Q [Hs Hu]. split.
  - clear Hu Q. induction Hs as [|q s qs ss [H1 H2] Hs IH]; cbn [map]; constructor; [|exact IH].
    unfold release_of. destruct (floor_ok s).
    assert (B : forall n, (IZR n <= s)%R -> n <= Int_part s).
    { intros n K. enough (n < Int_part s + 1) by lia. apply lt_IZR. rewrite plus_IZR. lra. }
    apply B in H1. apply B in H2. lia.
  - intros k r Hk t. rewrite <- (available_floor r (latest starts t) t (conj (latest_ge starts t) (latest_lt starts t))).
    etransitivity; [|apply (Hu k r Hk)].
    apply in_use_floor; [|apply latest_lt|intros; apply latest_in; assumption].
    apply Forall_map, Forall_forall. intros q Hq. rewrite forallb_forall in Q. specialize (Q q Hq).
    unfold fine_request in Q. apply andb_true_iff in Q as [_ Q]. rewrite forallb_forall in Q. cbn [holding nodes].
    destruct (nth_in_or_default k (needs q) 0) as [I| ->]; [|lia]. specialize (Q _ I). lia.
Qed.

Theorem machine_prices_bound_mean_delay ticks m machine unit first ps requests bound :
  check_machine_prices ticks m machine unit first ps requests = Some bound ->
    bounds_mean_delay_on ticks m machine requests bound.
Proof.
  apply mean_of_total_any.
  - intros starts [Hs _]. clear - Hs. induction Hs as [|q s qs ss [H _] Hs IH]; cbn [map]; constructor; assumption.
  - intros sum H starts Hs. destruct (machine_price_total_ok _ _ _ _ _ _ _ _ H) as [(Hu & Ht & Q) K].
    specialize (K _ (feasible_on_floor _ _ _ Q Hs)). apply IZR_le in K.
    assert (V : Forall (fun j => 0 <= weight j) (map plain requests) /\ Forall (fun j => 0 <= runtime j) (map plain requests)).
    { rewrite forallb_forall in Q. split; apply Forall_map, Forall_forall; intros q Hq; specialize (Q q Hq);
        unfold fine_request in Q; repeat (apply andb_true_iff in Q as [Q ?]); lia. }
    destruct V as [Vw Vr].
    assert (S : Forall2 (fun j s => IZR (submit j) <= s)%R (map plain requests) starts).
    { destruct Hs as [Hs _]. clear - Hs. induction Hs as [|q s qs ss [H _] Hs IH]; cbn [map]; constructor; assumption. }
    pose proof (total_floor unit ticks m _ Hu Ht Vw Vr starts S). lra.
Qed.
