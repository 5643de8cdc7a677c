(** * Bounds from one price list for all jobs: a node costs the same for everybody *)
From Coq Require Import ZArith List Lia Bool.
From Allocsolve Require Import Statement WholeTicks LeastCost JobPrices.
Import ListNotations.
Open Scope Z_scope.

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

(** The list without its first [k] ticks, which are those of its first segment at most. *)
Definition after (k : Z) (s : segs) : segs :=
  match s with [] => [] | (l, q) :: r => if l <=? k then r else (l - k, q) :: r end.

(** This is [sweep] of [raised m c] of the prices from the start of the job, times its nodes, without such lists. *)
Fixpoint sweep_raised (fuel : nat) (n best m d p c : Z) (e b : segs) : Z :=
  if m <=? 0 then sweep_nodes fuel n best d p c e b else
  let best := Z.min best (d + p) in
  if best <=? d then best else
  match fuel with
  | O => d
  | S fuel =>
    let '(lb, qb) := match b with [] => (m, c) | (l, q) :: _ => (Z.min m l, n * q + c) end in
    match e with
    | [] => sweep_raised fuel n best (m - lb) (d + c * lb) (p - qb * lb) c [] (after lb b)
    | (le, qe) :: _ =>
      let k := Z.min lb le in
      sweep_raised fuel n best (m - k) (d + c * k) (p + (n * qe - qb) * k) c (after k e) (after k b)
    end
  end.

Lemma times_after n k l q r : times n (after k ((l, q) :: r)) =
  if l <=? k then times n r else (l - k, n * q) :: times n r.
Proof. cbn [after]. destruct (l <=? k); reflexivity. Qed.

Lemma sweep_raised_eq n c fuel : forall best m d p e b,
  sweep_raised fuel n best m d p c e b = sweep fuel best d p c (times n e) (raised m c (times n b)).
Proof.
  induction fuel as [|fuel IH]; intros best m d p e b; cbn [sweep_raised].
  - destruct (Z.leb_spec m 0); [rewrite sweep_nodes_eq, raised_none by assumption; reflexivity|]. reflexivity.
  - destruct (Z.leb_spec m 0) as [L|L]; [rewrite sweep_nodes_eq, raised_none by assumption; reflexivity|].
    cbn [sweep]. destruct (_ <=? d); [reflexivity|].
    destruct b as [|[l q] b].
    + cbn [times map raised after].
      destruct (Z.leb_spec m 0) as [|_]; [lia|].
      destruct e as [|[le qe] e]; cbn [times map fst snd].
      * rewrite IH. rewrite raised_none by lia. reflexivity.
      * rewrite IH. change (map (fun p0 => (fst p0, n * snd p0)) e) with (times n e).
        rewrite times_after. destruct (Z.leb_spec m le) as [M|M].
        -- replace (Z.min m le) with m by lia. rewrite (raised_none c _ (m - m)) by lia. cbn [times map].
           destruct (Z.eqb_spec m le), (Z.leb_spec le m); try lia; try reflexivity.
        -- replace (Z.min m le) with le by lia. cbn [times map raised].
           destruct (Z.leb_spec (m - le) 0), (Z.leb_spec le le); try lia; try reflexivity.
    + cbn [times map fst snd raised]. change (map (fun p0 => (fst p0, n * snd p0)) b) with (times n b).
      destruct (Z.leb_spec m 0); [lia|].
      assert (B : raised m c ((l, n * q) :: times n b) = (Z.min m l, n * q + c) ::
                  raised (m - Z.min m l) c (times n (after (Z.min m l) ((l, q) :: b)))).
      { cbn [raised]. destruct (Z.leb_spec m 0); [lia|]. rewrite times_after. destruct (Z.ltb_spec m l) as [M|M].
        - replace (Z.min m l) with m by lia. destruct (Z.leb_spec l m); [lia|]. rewrite raised_none by lia. reflexivity.
        - replace (Z.min m l) with l by lia. destruct (Z.leb_spec l l); [reflexivity|lia]. }
      cbn [raised] in B. destruct (Z.leb_spec m 0); [lia|]. rewrite B. clear B.
      destruct e as [|[le qe] e]; cbn [times map fst snd].
      * rewrite IH. reflexivity.
      * change (map (fun p0 => (fst p0, n * snd p0)) e) with (times n e).
        rewrite IH, times_after. destruct (Z.leb_spec (Z.min m l) le) as [M|M].
        -- replace (Z.min (Z.min m l) le) with (Z.min m l) by lia.
           destruct (Z.eqb_spec (Z.min m l) le), (Z.leb_spec le (Z.min m l)); try lia; try reflexivity.
        -- replace (Z.min (Z.min m l) le) with le by lia. destruct (Z.leb_spec le le); [|lia].
           f_equal. rewrite times_after. destruct (Z.leb_spec l le); [lia|].
           cbn [raised]. destruct (Z.leb_spec (m - le) 0); [lia|].
           rewrite times_after.
           destruct (Z.ltb_spec (m - le) (l - le)) as [N|N].
           ++ replace (Z.min m l) with m by lia. destruct (Z.leb_spec l m); [lia|].
              rewrite (raised_none c _ (m - m)) by lia. replace (l - le - (m - le)) with (l - m) by lia. reflexivity.
           ++ replace (Z.min m l) with l by lia. destruct (Z.leb_spec l l); [|lia].
              replace (m - le - (l - le)) with (m - l) by lia. reflexivity.
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
Definition least_shared (unit ticks : Z) (w : measure) (fuel : nat) (b : segs) (j : job) : Z :=
  let by_ := divisor ticks w j in
  let c := slope unit ticks w j in
  let m := Z.max 0 (shortest ticks w j - runtime j) in
  let n := nodes j * by_ in
  let p := n * cum_until b (runtime j) + c * m in
  let d := c * runtime j in
  sweep_raised fuel n (d + p) m d p c (from (runtime j) b) b / by_.

Definition fine (j : job) : bool := (0 <=? runtime j) && (0 <=? weight j) && (0 <=? nodes j).

Lemma fine_ok j : fine j = true -> 0 <= runtime j /\ 0 <= weight j /\ 0 <= nodes j.
Proof. unfold fine. intros H. repeat (apply andb_true_iff in H as [H ?]). lia. Qed.

Lemma least_shared_ok unit ticks w fuel a s b j x :
  0 <= unit -> 0 < ticks -> fine j = true -> ok_segs s -> rest_from a s (submit j) b -> submit j <= x ->
  least_shared unit ticks w fuel b j <=
  cost_of_delay unit ticks w j x + nodes j * (cum s (x + runtime j - a) - cum s (x - a)).
Proof.
  intros Hu Ht Hj Hs [Hb B] Hx. destruct (fine_ok j Hj) as (Hr & Hw & Hn).
  rewrite cost_of_delay_plus by assumption.
  pose proof (divisor_pos ticks w j Ht) as D. pose proof (slope_nonneg unit ticks w j Hu Ht Hw) as C.
  unfold least_shared. apply Z.div_le_mono; [assumption|]. rewrite sweep_raised_eq, cum_until_eq by assumption.
  set (by_ := divisor ticks w j) in *. set (c := slope unit ticks w j) in *.
  set (m := Z.max 0 (shortest ticks w j - runtime j)).
  set (n := nodes j * by_). assert (N : 0 <= n) by (unfold n; nia).
  set (t0 := submit j - a) in *.
  assert (P : cum b (runtime j) = cum s (t0 + runtime j) - cum s t0) by (apply B; assumption).
  assert (E : forall y, 0 <= y -> n * cum b (runtime j) + cum (times n (from (runtime j) b)) y - cum (times n b) y =
                n * (cum s (t0 + runtime j + y) - cum s (t0 + y))).
  { intros y Hy. rewrite !cum_times, cum_from, P by assumption. rewrite !B by lia. rewrite Z.add_assoc. lia. }
  pose proof (sweep_raised_ok c m fuel (c * runtime j) (n * cum b (runtime j))
                (times n (from (runtime j) b)) (times n b)) as H.
  specialize (H C ltac:(unfold m; lia) ltac:(apply times_ok, from_ok, Hb; assumption)
                ltac:(apply times_ok, Hb; assumption)).
  specialize (H ltac:(intros y Hy; rewrite E by assumption;
    pose proof (cum_mono s (t0 + y) (t0 + runtime j + y) Hs ltac:(lia)); nia)).
  specialize (H (c * runtime j + (n * cum b (runtime j) + c * m)) (x - submit j) ltac:(lia)).
  specialize (E (x - submit j) ltac:(lia)).
  replace (t0 + runtime j + (x - submit j)) with (x + runtime j - a) in E by lia.
  replace (t0 + (x - submit j)) with (x - a) in E by lia.
  replace (Z.max (shortest ticks w j) (x + runtime j - submit j)) with (runtime j + Z.max m (x - submit j))
    by (unfold m; lia).
  etransitivity; [exact H|].
  replace (_ * _ * by_) with (n * (cum s (x + runtime j - a) - cum s (x - a))) by (unfold n; ring). lia.
Qed.

(** The least cost of a moldable job, which is one of these rigid ones. *)
Fixpoint least_of_sizes unit ticks w fuel b (least : Z) (sizes : list job) : Z :=
  match sizes with
  | [] => least
  | j :: js => least_of_sizes unit ticks w fuel b (Z.min least (least_shared unit ticks w fuel b j)) js
  end.

Lemma least_of_sizes_ok unit ticks w fuel b sizes : forall least,
  least_of_sizes unit ticks w fuel b least sizes <= least /\
  forall j, In j sizes -> least_of_sizes unit ticks w fuel b least sizes <= least_shared unit ticks w fuel b j.
Proof.
  induction sizes as [|j js IH]; intros least; cbn [least_of_sizes]; [split; [lia|easy]|].
  destruct (IH (Z.min least (least_shared unit ticks w fuel b j))) as [I1 I2]. split; [lia|].
  intros k [->|Hk]; [lia|]. apply I2, Hk.
Qed.

(** Jobs that are listed in the order of their submissions walk along the prices; others start from the begin. *)
Fixpoint least_of_all unit ticks w (fuel : nat) (a : Z) (s : segs) (t : Z) (b : segs) (moldable : list (list job))
  (total : Z) : Z :=
  match moldable with
  | [] => total
  | [] :: rest => least_of_all unit ticks w fuel a s t b rest total
  | (j :: js) :: rest =>
    let own := if t <=? submit j then from (submit j - t) b else from (submit j - a) s in
    least_of_all unit ticks w fuel a s (submit j) own rest
      (total + least_of_sizes unit ticks w fuel own (least_shared unit ticks w fuel own j) js)
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

(** The sizes of a moldable job have the same submission and the same weight. *)
Definition fine_sizes (sizes : list job) : bool :=
  match sizes with
  | [] => true
  | j :: js => fine j && forallb (fun k => fine k && (submit k =? submit j) && (weight k =? weight j)) js
  end.

Lemma fine_sizes_ok j js k : fine_sizes (j :: js) = true -> In k (j :: js) ->
  fine k = true /\ submit k = submit j /\ weight k = weight j.
Proof.
  cbn [fine_sizes]. intros H [<-|Hk]; apply andb_true_iff in H as [H F]; [auto|].
  rewrite forallb_forall in F. specialize (F k Hk). apply andb_true_iff in F as [F ?], F as [F ?].
  split; [assumption|lia].
Qed.

Definition time_price_total (ticks : Z) (w : measure) (num_nodes unit a : Z) (s : segs) (moldable : list (list job))
  : option Z :=
  if (0 <=? unit) && (0 <? ticks) && ok_segsb s && forallb fine_sizes moldable then
    Some (least_of_all unit ticks w (S (S (S (length s + length s)))) a s a s moldable 0 - num_nodes * area s)
  else None.

Lemma run_as_fine moldable jobs : forallb fine_sizes moldable = true -> run_as moldable jobs ->
  Forall (fun j => 0 <= runtime j /\ 0 <= weight j /\ 0 <= nodes j) jobs.
Proof.
  intros H R. induction R as [|l j ls js Hj R IH]; constructor; cbn [forallb] in H; apply andb_true_iff in H as [H F].
  - destruct l as [|k ks]; [easy|]. apply fine_ok. apply (fine_sizes_ok k ks j H Hj).
  - apply IH, F.
Qed.

Theorem time_price_total_ok ticks w num_nodes unit a s moldable bound :
  time_price_total ticks w num_nodes unit a s moldable = Some bound ->
  forall jobs starts, run_as moldable jobs -> feasible num_nodes jobs starts ->
  bound <= total_cost unit ticks w jobs starts.
Proof.
  unfold time_price_total. destruct (_ && _) eqn:C; [|discriminate]. intros [= <-] jobs starts M Hf.
  repeat (apply andb_true_iff in C as [C ?]). apply Z.leb_le in C. apply Z.ltb_lt in H1. apply ok_segsb_ok in H0.
  pose proof (run_as_fine _ _ H M) as F.
  assert (Hr : Forall (fun j => 0 <= runtime j) jobs) by (revert F; apply Forall_impl; intros; lia).
  pose proof (paid_by_all_le num_nodes jobs starts s Hf Hr H0 a).
  set (fuel := S (S (S (length s + length s)))).
  enough (forall u b t, rest_from a s u b -> least_of_all unit ticks w fuel a s u b moldable t <=
          t + total_cost unit ticks w jobs starts + paid_by_all jobs starts a s) as G.
  { specialize (G a s 0). enough (rest_from a s a s) as R by (specialize (G R); lia).
    split; [assumption|]. intros y Hy. rewrite Z.sub_diag, Z.add_0_l, (cum_neg s 0) by (assumption || lia). lia. }
  destruct Hf as [Hst _]. clear H2 F Hr. revert starts Hst.
  induction M as [|l j ls js Hj M IH]; intros starts Hst u b t R; inversion Hst as [|? x ? xs Hx Hxs]; subst;
    cbn [least_of_all total_cost paid_by_all]; [lia|].
  cbn [forallb] in H. apply andb_true_iff in H as [H F].
  destruct l as [|k ks]; [easy|]. destruct (fine_sizes_ok k ks j H Hj) as (Fj & Sj & _).
  set (own := if u <=? submit k then from (submit k - u) b else from (submit k - a) s).
  assert (O : rest_from a s (submit k) own).
  { unfold own. destruct (Z.leb_spec u (submit k)); [apply rest_from_later|apply rest_from_any]; assumption. }
  set (least := least_of_sizes unit ticks w fuel own (least_shared unit ticks w fuel own k) ks).
  assert (L : least <= least_shared unit ticks w fuel own j).
  { destruct (least_of_sizes_ok unit ticks w fuel own ks (least_shared unit ticks w fuel own k)) as [L1 L2].
    destruct Hj as [<-|Hj]; [exact L1|apply L2, Hj]. }
  specialize (IH F xs Hxs (submit k) own (t + least) O). rewrite <- Sj in O.
  pose proof (least_shared_ok unit ticks w fuel a s own j x C H1 Fj H0 O Hx). lia.
Qed.
