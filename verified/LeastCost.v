(** * The least cost of a job by itself, if it pays for the time that it holds nodes

    Every job has a list of prices. Two cursors walk along it, one at the start of the job and one at its end:
    between two events the cost is linear in the start, so its least value is at an event. *)
From Coq Require Import ZArith List Lia Bool.
From Allocsolve Require Import Statement WholeTicks.
Import ListNotations.
Open Scope Z_scope.

(** ** Price lists *)

(** A price list has segments (length, price), one after the other, and begins at 0. *)
Definition segs := list (Z * Z).

Definition clamp (x l : Z) : Z := Z.max 0 (Z.min x l).

(** Who holds a node from 0 to [y] pays this much. *)
Fixpoint cum (s : segs) (y : Z) : Z :=
  match s with
  | [] => 0
  | (l, q) :: r => q * clamp y l + cum r (y - l)
  end.

Definition ok_segs (s : segs) : Prop := Forall (fun p => 0 <= fst p /\ 0 <= snd p) s.

Definition ok_segsb (s : segs) : bool := forallb (fun p => (0 <=? fst p) && (0 <=? snd p)) s.

Lemma ok_segsb_ok s : ok_segsb s = true -> ok_segs s.
Proof.
  unfold ok_segsb, ok_segs. rewrite forallb_forall, Forall_forall.
  intros H x Hx. specialize (H x Hx). apply andb_true_iff in H. destruct H. lia.
Qed.

Lemma cum_neg s y : y <= 0 -> ok_segs s -> cum s y = 0.
Proof.
  revert y. induction s as [|[l q] r IH]; intros y Hy Hs; cbn [cum]; [reflexivity|].
  inversion Hs as [|? ? [Hl Hq] Hr]; subst. cbn in Hl, Hq.
  rewrite (IH (y - l)) by (assumption || lia). unfold clamp. rewrite Z.max_l by lia. lia.
Qed.

Lemma cum_mono s y z : ok_segs s -> y <= z -> cum s y <= cum s z.
Proof.
  revert y z. induction s as [|[l q] r IH]; intros y z Hs Hyz; cbn [cum]; [lia|].
  inversion Hs as [|? ? [Hl Hq] Hr]; subst. cbn in Hl, Hq.
  specialize (IH (y - l) (z - l) Hr ltac:(lia)).
  assert (q * clamp y l <= q * clamp z l) by (apply Z.mul_le_mono_nonneg_l; unfold clamp; lia).
  lia.
Qed.

(** The rest of a price list, from [t] >= 0 on. *)
Fixpoint drop (t : Z) (s : segs) : segs :=
  match s with
  | [] => []
  | (l, q) :: r => if t <? l then (l - t, q) :: r else drop (t - l) r
  end.

Lemma drop_ok t s : 0 <= t -> ok_segs s -> ok_segs (drop t s).
Proof.
  revert t. induction s as [|[l q] r IH]; intros t Ht Hs; cbn [drop]; [assumption|].
  inversion Hs as [|? ? [Hl Hq] Hr]; subst. cbn in Hl, Hq.
  destruct (Z.ltb_spec t l); [constructor; cbn; auto; lia|apply IH; auto; lia].
Qed.

Lemma cum_drop s t y : 0 <= t -> 0 <= y -> ok_segs s -> cum (drop t s) y = cum s (t + y) - cum s t.
Proof.
  revert t. induction s as [|[l q] r IH]; intros t Ht Hy Hs; cbn [drop cum]; [lia|].
  inversion Hs as [|? ? [Hl Hq] Hr]; subst. cbn in Hl, Hq.
  destruct (Z.ltb_spec t l).
  - cbn [cum]. rewrite (cum_neg r (t - l)) by (assumption || lia).
    replace (y - (l - t)) with (t + y - l) by lia.
    replace (clamp (t + y) l) with (t + clamp y (l - t)) by (unfold clamp; lia).
    replace (clamp t l) with t by (unfold clamp; lia). lia.
  - rewrite IH by (assumption || lia). replace (t - l + y) with (t + y - l) by lia.
    replace (clamp (t + y) l) with (clamp t l) by (unfold clamp; lia). lia.
Qed.

(** ** The least cost of a job alone *)

(** The result is at most [best], and at most d + p + c y + cum e y - cum b y for all y >= 0. Here [d] is the cost of
    the delay so far, [p] is what is paid so far, [c] is the cost of a tick of delay, and [e] and [b] are the prices
    from the end and from the start of the job on. The search ends when the delay alone costs as much as [best]. *)
Fixpoint sweep (fuel : nat) (best d p c : Z) (e b : segs) : Z :=
  let best := Z.min best (d + p) in
  if best <=? d then best else
  match fuel with
  | O => d
  | S fuel =>
    match b, e with
    | [], _ => best
    | (lb, qb) :: rb, [] => sweep fuel best (d + c * lb) (p - qb * lb) c [] rb
    | (lb, qb) :: rb, (le, qe) :: re =>
      if lb <=? le
      then sweep fuel best (d + c * lb) (p + (qe - qb) * lb) c (if lb =? le then re else (le - lb, qe) :: re) rb
      else sweep fuel best (d + c * le) (p + (qe - qb) * le) c re ((lb - le, qb) :: rb)
    end
  end.

Lemma interp A k l y r : r <= A -> r <= A + k * l -> 0 <= y <= l -> r <= A + k * y.
Proof. intros. destruct (Z_le_gt_dec 0 k); nia. Qed.

Lemma cum_head l q r m z : 0 <= m <= l -> 0 <= z -> ok_segs r ->
  cum ((l, q) :: r) (m + z) = q * m + cum ((l - m, q) :: r) z.
Proof.
  intros Hm Hz Hr. cbn [cum]. replace (z - (l - m)) with (m + z - l) by lia.
  replace (clamp (m + z) l) with (m + clamp z (l - m)) by (unfold clamp; lia). lia.
Qed.

Lemma cum_zero q r z : 0 <= z -> cum ((0, q) :: r) z = cum r z.
Proof. intros. cbn [cum]. replace (clamp z 0) with 0 by (unfold clamp; lia). rewrite Z.sub_0_r. lia. Qed.

Lemma cum_within l q r y : 0 <= y <= l -> ok_segs r -> cum ((l, q) :: r) y = q * y.
Proof.
  intros. cbn [cum]. rewrite (cum_neg r) by (assumption || lia).
  replace (clamp y l) with y by (unfold clamp; lia). lia.
Qed.

Lemma sweep_step fuel best d p c e b m e' b' qe qb :
  (forall best d p e b, ok_segs e -> ok_segs b ->
     (forall y, 0 <= y -> 0 <= p + cum e y - cum b y) ->
     sweep fuel best d p c e b <= best /\
     forall y, 0 <= y -> sweep fuel best d p c e b <= d + p + c * y + cum e y - cum b y) ->
  0 <= m -> ok_segs e' -> ok_segs b' ->
  (forall y, 0 <= y -> 0 <= p + cum e y - cum b y) ->
  (forall y, 0 <= y <= m -> cum e y = qe * y) -> (forall z, 0 <= z -> cum e (m + z) = qe * m + cum e' z) ->
  (forall y, 0 <= y <= m -> cum b y = qb * y) -> (forall z, 0 <= z -> cum b (m + z) = qb * m + cum b' z) ->
  best <= d + p ->
  let r := sweep fuel best (d + c * m) (p + (qe - qb) * m) c e' b' in
  r <= best /\ forall y, 0 <= y -> r <= d + p + c * y + cum e y - cum b y.
Proof.
  intros IH Hm He' Hb' Hpos He1 He2 Hb1 Hb2 Hbest r.
  destruct (IH best (d + c * m) (p + (qe - qb) * m) e' b' He' Hb') as [I1 I2].
  { intros y Hy. specialize (Hpos (m + y) ltac:(lia)). rewrite He2, Hb2 in Hpos by lia. lia. }
  fold r in I1, I2. split; [assumption|]. intros y Hy.
  destruct (Z_le_gt_dec y m).
  - rewrite He1, Hb1 by lia.
    pose proof (I2 0 ltac:(lia)) as I0.
    pose proof (He2 0 ltac:(lia)). pose proof (Hb2 0 ltac:(lia)).
    pose proof (He1 m ltac:(lia)). pose proof (Hb1 m ltac:(lia)). rewrite Z.add_0_r in *.
    replace (d + p + c * y + qe * y - qb * y) with ((d + p) + (c + qe - qb) * y) by ring.
    apply interp with (l := m); lia.
  - specialize (I2 (y - m) ltac:(lia)).
    replace y with (m + (y - m)) by lia. rewrite He2, Hb2 by lia. lia.
Qed.

Ltac segs_tac :=
  solve [ apply cum_within; auto; lia
        | rewrite cum_head by (assumption || lia); rewrite ?Z.sub_diag, ?cum_zero by assumption; reflexivity
        | cbn [cum]; lia ].

Lemma sweep_ok c : 0 <= c -> forall fuel best d p e b, ok_segs e -> ok_segs b ->
  (forall y, 0 <= y -> 0 <= p + cum e y - cum b y) ->
  sweep fuel best d p c e b <= best /\
  forall y, 0 <= y -> sweep fuel best d p c e b <= d + p + c * y + cum e y - cum b y.
Proof.
  intros Hc fuel. induction fuel as [|fuel IH]; intros best d p e b He Hb Hpos; cbn [sweep].
  - destruct (Z.leb_spec (Z.min best (d + p)) d); split; try lia; intros y Hy; specialize (Hpos y Hy); nia.
  - destruct (Z.leb_spec (Z.min best (d + p)) d) as [Hd|Hd].
    { split; [lia|]. intros y Hy. specialize (Hpos y Hy). nia. }
    destruct b as [|[lb qb] rb].
    { split; [lia|]. intros y Hy. cbn [cum].
      pose proof (cum_mono e 0 y He Hy) as M. rewrite (cum_neg e 0) in M by (assumption || lia). nia. }
    inversion Hb as [|? ? [Hlb Hqb] Hrb]; subst; cbn in Hlb, Hqb.
    assert (G : forall e' m b' qe,
      0 <= m -> ok_segs e' -> ok_segs b' ->
      (forall y, 0 <= y <= m -> cum e y = qe * y) ->
      (forall z, 0 <= z -> cum e (m + z) = qe * m + cum e' z) ->
      (forall y, 0 <= y <= m -> cum ((lb, qb) :: rb) y = qb * y) ->
      (forall z, 0 <= z -> cum ((lb, qb) :: rb) (m + z) = qb * m + cum b' z) ->
      let r := sweep fuel (Z.min best (d + p)) (d + c * m) (p + (qe - qb) * m) c e' b' in
      r <= best /\ forall y, 0 <= y -> r <= d + p + c * y + cum e y - cum ((lb, qb) :: rb) y).
    { intros e' m b' qe Hm He' Hb' E1 E2 B1 B2 r.
      destruct (sweep_step fuel (Z.min best (d + p)) d p c e ((lb, qb) :: rb) m e' b' qe qb) as [I1 I2];
        try assumption; try lia.
      fold r in I1, I2. split; [lia|assumption]. }
    destruct e as [|[le qe] re].
    + specialize (G [] lb rb 0). replace (p - qb * lb) with (p + (0 - qb) * lb) by ring.
      apply G; try assumption; intros; auto; segs_tac.
    + inversion He as [|? ? [Hle Hqe] Hre]; subst; cbn in Hle, Hqe.
      destruct (Z.leb_spec lb le) as [H|H].
      * destruct (Z.eqb_spec lb le) as [->|Hne]; apply G; try assumption; intros;
          try (constructor; [cbn; lia|assumption]); segs_tac.
      * apply G; try assumption; intros; try (constructor; [cbn; lia|assumption]); segs_tac.
Qed.

(** In the slot from [e_begin] on, [e_len] ticks long, a job pays this price per tick. It pays for [e_size] units of
    nodes. *)
Record entry := Entry { e_begin : Z; e_len : Z; e_size : Z; e_price : Z }.

Fixpoint paid_until (l : list entry) (x : Z) : Z :=
  match l with [] => 0 | e :: r => e_price e * clamp (x - e_begin e) (e_len e) + paid_until r x end.

Fixpoint to_segs (x : Z) (l : list entry) : segs :=
  match l with
  | [] => []
  | e :: r =>
    let rest := (e_len e, e_price e) :: to_segs (e_begin e + e_len e) r in
    if e_begin e =? x then rest else (e_begin e - x, 0) :: rest
  end.

Lemma cum_to_segs l : forall x y, cum (to_segs x l) (y - x) = paid_until l y.
Proof.
  induction l as [|e r IH]; intros x y; cbn [to_segs paid_until]; [reflexivity|].
  destruct (Z.eqb_spec (e_begin e) x) as [<-|H]; cbn [cum].
  - rewrite <- (IH (e_begin e + e_len e)). do 2 f_equal; lia.
  - rewrite <- (IH (e_begin e + e_len e)). cbn [Z.mul Z.add]. f_equal; [do 2 f_equal; lia|f_equal; lia].
Qed.

(** The price list from [t] on, which may be before its begin. *)
Definition from (t : Z) (s : segs) : segs := if t <? 0 then (- t, 0) :: s else drop t s.

Lemma from_ok t s : ok_segs s -> ok_segs (from t s).
Proof.
  intros. unfold from. destruct (Z.ltb_spec t 0).
  - constructor; [cbn; lia|assumption].
  - apply drop_ok; [lia|assumption].
Qed.

Lemma cum_from s t y : ok_segs s -> 0 <= y -> cum (from t s) y = cum s (t + y) - cum s t.
Proof.
  intros. unfold from. destruct (Z.ltb_spec t 0).
  - cbn [cum]. rewrite (cum_neg s t) by (assumption || lia). rewrite Z.mul_0_l, Z.sub_0_r. cbn. f_equal. lia.
  - apply cum_drop; auto; lia.
Qed.

Definition origin (j : job) (l : list entry) : Z := match l with [] => submit j | e :: _ => e_begin e end.

(** ** Delays that cost nothing at first, and prices with a factor *)

Definition times (n : Z) (s : segs) : segs := map (fun p => (fst p, n * snd p)) s.

Lemma cum_times n s : forall y, cum (times n s) y = n * cum s y.
Proof. induction s as [|[l q] r IH]; intros y; cbn [times map cum fst snd]; [lia|]. fold (times n r). rewrite IH.
  lia. Qed.

Lemma times_ok n s : 0 <= n -> ok_segs s -> ok_segs (times n s).
Proof. intros Hn H. induction H as [|[l q] r [H1 H2] _ IH]; cbn; constructor; auto. cbn in *. nia. Qed.

(** The first [m] ticks cost [c] more each. *)
Fixpoint raised (m c : Z) (s : segs) : segs :=
  if m <=? 0 then s else
  match s with
  | [] => [(m, c)]
  | (l, q) :: r => if m <? l then (m, q + c) :: (l - m, q) :: r else (l, q + c) :: raised (m - l) c r
  end.

Lemma raised_none c s m : m <= 0 -> raised m c s = s.
Proof. intros. destruct s as [|[l q] r]; cbn [raised]; destruct (Z.leb_spec m 0); auto; lia. Qed.

Lemma raised_ok c s : 0 <= c -> ok_segs s -> forall m, ok_segs (raised m c s).
Proof.
  intros Hc H. induction H as [|[l q] r [H1 H2] Hr IH]; intros m; cbn [raised];
    destruct (Z.leb_spec m 0); cbn [fst snd] in *.
  - constructor.
  - constructor; [cbn; lia|constructor].
  - constructor; [cbn; lia|assumption].
  - destruct (Z.ltb_spec m l); repeat constructor; cbn; try lia; try assumption. apply IH.
Qed.

Lemma cum_raised c s : ok_segs s -> forall m y, 0 <= m -> cum (raised m c s) y = cum s y + c * clamp y m.
Proof.
  induction 1 as [|[l q] r [H1 H2] Hr IH]; intros m y Hm; cbn [raised]; destruct (Z.leb_spec m 0) as [L|L];
    cbn [fst snd] in *.
  - replace (clamp y m) with 0 by (unfold clamp; lia). lia.
  - cbn [cum]. lia.
  - replace (clamp y m) with 0 by (unfold clamp; lia). lia.
  - destruct (Z.ltb_spec m l); cbn [cum].
    + replace (y - m - (l - m)) with (y - l) by lia.
      replace (clamp y l) with (clamp y m + clamp (y - m) (l - m)) by (unfold clamp; lia). lia.
    + rewrite IH by lia. replace (clamp y m) with (clamp y l + clamp (y - l) (m - l)) by (unfold clamp; lia). lia.
Qed.

(** The delay costs nothing in the first [m] ticks of waiting, and [c] for each tick after them: that is the same as
    if it always cost [c], and starting in those ticks cost as much more as they are early. *)
Lemma sweep_raised_ok c m fuel d p e b :
  0 <= c -> 0 <= m -> ok_segs e -> ok_segs b -> (forall y, 0 <= y -> 0 <= p + cum e y - cum b y) ->
  forall best y, 0 <= y -> sweep fuel best d (p + c * m) c e (raised m c b) <= d + c * Z.max m y + p + cum e y - cum b y.
Proof.
  intros Hc Hm He Hb Hp best y Hy.
  destruct (sweep_ok c Hc fuel best d (p + c * m) e (raised m c b) He (raised_ok c b Hc Hb m)) as [_ H].
  - intros z Hz. rewrite cum_raised by assumption. specialize (Hp z Hz).
    assert (c * clamp z m <= c * m) by (apply Z.mul_le_mono_nonneg_l; unfold clamp; lia). lia.
  - specialize (H y Hy). rewrite cum_raised in H by assumption.
    replace (Z.max m y) with (m + y - clamp y m) by (unfold clamp; lia). nia.
Qed.

(** ** The least cost of a job under prices of its own *)

(** The job starts [late] ticks after its submission or later; the prices [s] begin [t0] ticks before that. *)
Definition least_later (unit ticks : Z) (w : measure) (j : job) (late : Z) (s : segs) (t0 : Z) : Z :=
  let by_ := divisor ticks w j in
  let c := slope unit ticks w j in
  let m := Z.max 0 (shortest ticks w j - (late + runtime j)) in
  let p := by_ * (cum s (t0 + runtime j) - cum s t0) + c * m in
  let d := c * (late + runtime j) in
  sweep (S (S (S (length s + length s)))) (d + p) d p c
    (times by_ (from (t0 + runtime j) s)) (raised m c (times by_ (from t0 s))) / by_.

Definition least_cost unit ticks w j s t0 : Z := least_later unit ticks w j 0 s t0.

Lemma cost_of_delay_plus unit ticks w j x paid : 0 < ticks ->
  cost_of_delay unit ticks w j x + paid =
  (slope unit ticks w j * Z.max (shortest ticks w j) (x + runtime j - submit j) + paid * divisor ticks w j) /
  divisor ticks w j.
Proof. intros H. pose proof (divisor_pos ticks w j H). unfold cost_of_delay. rewrite Z.div_add by lia. lia. Qed.

Lemma least_later_ok unit ticks w j late s a x :
  0 <= unit -> 0 < ticks -> 0 <= weight j -> 0 <= runtime j -> 0 <= late -> ok_segs s -> submit j + late <= x ->
  least_later unit ticks w j late s (submit j + late - a)
  <= cost_of_delay unit ticks w j x + (cum s (x + runtime j - a) - cum s (x - a)).
Proof.
  intros Hu Ht Hw Hr Hl Hs Hx. set (t0 := submit j + late - a). rewrite cost_of_delay_plus by assumption.
  pose proof (divisor_pos ticks w j Ht) as D. pose proof (slope_nonneg unit ticks w j Hu Ht Hw) as C.
  unfold least_later. apply Z.div_le_mono; [assumption|].
  set (by_ := divisor ticks w j) in *. set (c := slope unit ticks w j) in *.
  set (m := Z.max 0 (shortest ticks w j - (late + runtime j))).
  set (p := by_ * (cum s (t0 + runtime j) - cum s t0)).
  pose proof (sweep_raised_ok c m (S (S (S (length s + length s)))) (c * (late + runtime j)) p
                (times by_ (from (t0 + runtime j) s)) (times by_ (from t0 s))) as H.
  specialize (H C ltac:(unfold m; lia) ltac:(apply times_ok, from_ok, Hs; lia) ltac:(apply times_ok, from_ok, Hs; lia)).
  assert (E : forall y, 0 <= y -> p + cum (times by_ (from (t0 + runtime j) s)) y - cum (times by_ (from t0 s)) y =
                by_ * (cum s (t0 + runtime j + y) - cum s (t0 + y))).
  { intros y Hy. rewrite !cum_times, !cum_from by assumption. unfold p. ring. }
  assert (P : forall y, 0 <= y -> 0 <= p + cum (times by_ (from (t0 + runtime j) s)) y - cum (times by_ (from t0 s)) y).
  { intros y Hy. rewrite E by assumption.
    pose proof (cum_mono s (t0 + y) (t0 + runtime j + y) Hs ltac:(lia)). nia. }
  specialize (H P (c * (late + runtime j) + (p + c * m)) (x - submit j - late) ltac:(lia)).
  specialize (E (x - submit j - late) ltac:(lia)).
  replace (t0 + runtime j + (x - submit j - late)) with (x + runtime j - a) in E by lia.
  replace (t0 + (x - submit j - late)) with (x - a) in E by lia.
  replace (Z.max (shortest ticks w j) (x + runtime j - submit j)) with
    (late + runtime j + Z.max m (x - submit j - late)) by (unfold m; lia). lia.
Qed.

Lemma least_cost_ok unit ticks w j l x :
  0 <= unit -> 0 < ticks -> 0 <= weight j -> 0 <= runtime j -> ok_segs (to_segs (origin j l) l) -> submit j <= x ->
  least_cost unit ticks w j (to_segs (origin j l) l) (submit j - origin j l)
  <= cost_of_delay unit ticks w j x + (paid_until l (x + runtime j) - paid_until l x).
Proof.
  intros Hu Ht Hw Hr Hs Hx. unfold least_cost. set (a := origin j l) in *.
  pose proof (least_later_ok unit ticks w j 0 _ a x Hu Ht Hw Hr ltac:(lia) Hs ltac:(lia)) as H.
  rewrite Z.add_0_r, !cum_to_segs in H. exact H.
Qed.
