(** * Bounds from prices per job and slot

    The certificate lists the prices by slot. The checker rebuilds from them the list of each job, so that what
    the jobs pay is what the slots receive. *)
From Coq Require Import ZArith List Lia Bool FMapPositive.
From Allocsolve Require Import Statement WholeTicks LeastCost Knapsack.
Import ListNotations.
Open Scope Z_scope.

(** ** Jobs by number *)

Fixpoint look (i : positive) (jobs : list job) (starts : list Z) (k : positive) : option (job * Z) :=
  match jobs, starts with
  | j :: js, s :: ss => if Pos.eqb i k then Some (j, s) else look (Pos.succ i) js ss k
  | _, _ => None
  end.

Lemma look_below jobs : forall i starts k, (k < i)%positive -> look i jobs starts k = None.
Proof.
  induction jobs; destruct starts; cbn; intros k H; auto.
  destruct (Pos.eqb_spec i k); [lia|]. apply IHjobs. lia.
Qed.

Definition runs (j : job) (s t : Z) : bool := (s <=? t) && (t <? s + runtime j).

Definition active i jobs starts t (it : item) : bool :=
  match look i jobs starts (who it) with Some (j, s) => runs j s t | None => false end.

Fixpoint rising (low : positive) (items : list item) : bool :=
  match items with [] => true | it :: r => (low <=? who it)%positive && rising (Pos.succ (who it)) r end.

Lemma rising_weaken items : forall low low', (low' <= low)%positive -> rising low items = true ->
  rising low' items = true.
Proof.
  destruct items; cbn; intros; auto. apply andb_true_iff in H0 as [H0 ->]. apply Pos.leb_le in H0.
  rewrite andb_true_r. apply Pos.leb_le. lia.
Qed.

Lemma rising_in items : forall low it, rising low items = true -> In it items -> (low <= who it)%positive.
Proof.
  induction items as [|x r IH]; cbn; intros low it H Hin; [easy|].
  apply andb_true_iff in H as [H1 H2]. apply Pos.leb_le in H1. destruct Hin as [->|Hin]; [lia|].
  specialize (IH _ it H2 Hin). lia.
Qed.

Lemma chosen_ext f g v l : (forall it, In it l -> f it = g it) -> chosen f v l = chosen g v l.
Proof.
  induction l; cbn; intros H; [reflexivity|]. rewrite (H a) by auto. rewrite IHl by auto. reflexivity.
Qed.

Lemma chosen_none v l : chosen (fun _ => false) v l = 0.
Proof. induction l; cbn; auto. Qed.

Lemma active_succ i j js s ss t it : (i < who it)%positive ->
  active i (j :: js) (s :: ss) t it = active (Pos.succ i) js ss t it.
Proof. intros. unfold active. cbn [look]. destruct (Pos.eqb_spec i (who it)); [lia|reflexivity]. Qed.

Lemma in_use_nonneg jobs : Forall (fun j => 0 <= nodes j) jobs -> forall starts t, 0 <= in_use jobs starts t.
Proof. induction 1; destruct starts; cbn; intros; try lia. specialize (IHForall starts t). destruct (_ && _); lia.
  Qed.

Lemma sizes_in_use g t jobs : Forall (fun j => 0 <= nodes j) jobs -> forall starts i items,
  rising i items = true ->
  (forall it j s, In it items -> look i jobs starts (who it) = Some (j, s) -> g * size it <= nodes j) ->
  g * chosen (active i jobs starts t) size items <= in_use jobs starts t.
Proof.
  induction 1 as [|j js Hj Hjs IH]; intros starts i items Hi Hs.
  - cbn [in_use]. rewrite (chosen_ext _ (fun _ => false)) by (unfold active; cbn; auto).
    rewrite chosen_none. lia.
  - destruct starts as [|s ss].
    { cbn [in_use]. rewrite (chosen_ext _ (fun _ => false)) by (unfold active; cbn; auto).
      rewrite chosen_none. lia. }
    cbn [in_use]. fold (runs j s t).
    assert (G : forall l, rising (Pos.succ i) l = true -> (forall it, In it l -> In it items) ->
      g * chosen (active i (j :: js) (s :: ss) t) size l <= in_use js ss t).
    { intros l Hl Hsub.
      rewrite (chosen_ext _ (active (Pos.succ i) js ss t)).
      - apply IH; [assumption|]. intros it j0 s0 Hin Hlook. apply Hs with (s := s0); [auto|]. cbn [look].
        pose proof (rising_in _ _ _ Hl Hin). destruct (Pos.eqb_spec i (who it)); [lia|assumption].
      - intros it Hin. apply active_succ. pose proof (rising_in _ _ _ Hl Hin). lia. }
    destruct items as [|it r].
    { specialize (G [] eq_refl ltac:(easy)). cbn [chosen] in *. destruct (runs j s t); lia. }
    cbn [rising] in Hi. apply andb_true_iff in Hi as [Hi Hr]. apply Pos.leb_le in Hi.
    destruct (Pos.eqb_spec (who it) i) as [E|E].
    + rewrite E in Hr. specialize (G r Hr ltac:(cbn; auto)). cbn [chosen].
      unfold active at 1. cbn [look]. rewrite E, Pos.eqb_refl.
      specialize (Hs it j s ltac:(cbn; auto)). cbn [look] in Hs. rewrite E, Pos.eqb_refl in Hs.
      specialize (Hs eq_refl). destruct (runs j s t); lia.
    + assert (rising (Pos.succ i) (it :: r) = true) as Hr'.
      { cbn [rising]. apply andb_true_iff; split; [apply Pos.leb_le; lia|assumption]. }
      specialize (G _ Hr' ltac:(auto)). destruct (runs j s t); lia.
Qed.

(** ** From instants to slots *)

Fixpoint upto (n : nat) (f : Z -> Z) : Z :=
  match n with O => 0 | S m => f (Z.of_nat m) + upto m f end.

Lemma upto_le n f w : (forall i, f i <= w) -> upto n f <= Z.of_nat n * w.
Proof. intros. induction n; [cbn; lia|]. cbn [upto]. specialize (H (Z.of_nat n)). nia. Qed.

Lemma clamp_upto n y : clamp y (Z.of_nat n) = upto n (fun i => if i <? y then 1 else 0).
Proof.
  induction n; [unfold clamp; cbn; lia|]. cbn [upto]. rewrite <- IHn.
  destruct (Z.ltb_spec (Z.of_nat n) y); unfold clamp; lia.
Qed.

(** The jobs of the items of a slot pay this much in it. *)
Fixpoint slot_paid jobs starts (b len : Z) (items : list item) : Z :=
  match items with
  | [] => 0
  | it :: r =>
    match look 1 jobs starts (who it) with
    | Some (j, s) => cost it * (clamp (s + runtime j - b) len - clamp (s - b) len)
    | None => 0
    end + slot_paid jobs starts b len r
  end.

Lemma slot_paid_upto jobs starts b n items : Forall (fun j => 0 <= runtime j) jobs ->
  slot_paid jobs starts b (Z.of_nat n) items =
  upto n (fun i => chosen (active 1 jobs starts (b + i)) cost items).
Proof.
  intros Hr.
  assert (L : forall k j s, look 1 jobs starts k = Some (j, s) -> 0 <= runtime j).
  { generalize 1%positive. revert starts. induction Hr; destruct starts; cbn; try discriminate.
    intros i k j s. destruct (Pos.eqb i k); [intros [= <- <-]; assumption|apply IHHr]. }
  induction items as [|it r IH]; cbn [slot_paid chosen].
  - induction n; cbn [upto]; lia.
  - rewrite IH. clear IH. specialize (L (who it)).
    set (f := fun i => chosen (active 1 jobs starts (b + i)) cost r).
    transitivity (upto n (fun i => (if active 1 jobs starts (b + i) it then cost it else 0) + f i)); [|reflexivity].
    unfold active. clearbody f.
    destruct (look 1 jobs starts (who it)) as [[j s]|].
    + rewrite !clamp_upto. specialize (L j s eq_refl). induction n; cbn [upto]; [lia|].
      rewrite <- IHn. unfold runs.
      destruct (Z.ltb_spec (Z.of_nat n) (s + runtime j - b)), (Z.ltb_spec (Z.of_nat n) (s - b)),
        (Z.leb_spec s (b + Z.of_nat n)), (Z.ltb_spec (b + Z.of_nat n) (s + runtime j)); cbn [andb]; lia.
    + induction n; cbn [upto]; [lia|]. rewrite <- IHn. lia.
Qed.

Definition slot_ok (sl : slot) : bool :=
  (0 <=? s_len sl) && rising 1 (s_items sl) && forallb (fun it => (0 <=? size it) && (0 <=? cost it)) (s_items sl).

Lemma slot_paid_le num_nodes g jobs starts sl :
  0 < g -> 0 <= num_nodes -> feasible num_nodes jobs starts ->
  Forall (fun j => 0 <= nodes j) jobs -> Forall (fun j => 0 <= runtime j) jobs -> slot_ok sl = true ->
  (forall it j s, In it (s_items sl) -> look 1 jobs starts (who it) = Some (j, s) -> g * size it <= nodes j) ->
  slot_paid jobs starts (s_begin sl) (s_len sl) (s_items sl) <= s_len sl * dearest (num_nodes / g) (s_items sl).
Proof.
  intros Hg Hcap [_ Hf] Hn Hr Hsl Hs. unfold slot_ok in Hsl.
  apply andb_true_iff in Hsl as [Hsl Hi]. apply andb_true_iff in Hsl as [Hl Hrise]. apply Z.leb_le in Hl.
  rewrite forallb_forall in Hi.
  rewrite <- (Z2Nat.id (s_len sl)) by assumption. rewrite slot_paid_upto by assumption.
  apply upto_le. intros i. apply dearest_ok.
  - apply Z.div_pos; lia.
  - apply Forall_forall. intros it Hin. specialize (Hi it Hin). apply andb_true_iff in Hi. lia.
  - apply Forall_forall. intros it Hin. specialize (Hi it Hin). apply andb_true_iff in Hi. lia.
  - apply Z.div_le_lower_bound; [assumption|].
    pose proof (sizes_in_use g (s_begin sl + i) jobs Hn starts 1 (s_items sl) Hrise Hs).
    specialize (Hf (s_begin sl + i)). lia.
Qed.

(** ** The same prices, by job *)

Module PM := PositiveMap.
Definition table := PM.t (list entry).

Definition get (m : table) (i : positive) : list entry := match PM.find i m with Some l => l | None => [] end.

Definition add_item (b len : Z) (m : table) (it : item) : table :=
  PM.add (who it) (Entry b len (size it) (cost it) :: get m (who it)) m.

Definition add_slot (m : table) (sl : slot) : table := fold_left (add_item (s_begin sl) (s_len sl)) (s_items sl) m.

(** The slots are listed from the last to the first, so that those of a job come out from the first to the last. *)
Definition by_job (slots : list slot) : table := fold_left add_slot slots (PM.empty _).

Lemma get_add b len m it k : get (add_item b len m it) k =
  if Pos.eqb (who it) k then Entry b len (size it) (cost it) :: get m k else get m k.
Proof.
  unfold get, add_item. destruct (Pos.eqb_spec (who it) k) as [->|H].
  - rewrite PM.gss. reflexivity.
  - rewrite PM.gso by auto. reflexivity.
Qed.

Fixpoint all_paid (i : positive) (jobs : list job) (starts : list Z) (m : table) : Z :=
  match jobs, starts with
  | j :: js, s :: ss => (paid_until (get m i) (s + runtime j) - paid_until (get m i) s) + all_paid (Pos.succ i) js ss m
  | _, _ => 0
  end.

Lemma all_paid_add b len it jobs : forall i starts m,
  all_paid i jobs starts (add_item b len m it) =
  match look i jobs starts (who it) with
  | Some (j, s) => cost it * (clamp (s + runtime j - b) len - clamp (s - b) len)
  | None => 0
  end + all_paid i jobs starts m.
Proof.
  assert (O : forall jobs i starts m, (who it < i)%positive ->
    all_paid i jobs starts (add_item b len m it) = all_paid i jobs starts m).
  { induction jobs0; destruct starts; cbn [all_paid]; intros; auto.
    rewrite !get_add. destruct (Pos.eqb_spec (who it) i); [lia|]. rewrite IHjobs0; lia. }
  induction jobs as [|j js IH]; destruct starts as [|s ss]; intros m; cbn [all_paid look]; auto.
  rewrite !get_add. destruct (Pos.eqb_spec (who it) i) as [E|E].
  - rewrite <- E, Pos.eqb_refl. rewrite O by lia. cbn [paid_until e_price e_begin e_len]. lia.
  - destruct (Pos.eqb_spec i (who it)); [congruence|]. rewrite IH. lia.
Qed.

Lemma all_paid_items b len jobs starts items : forall m,
  all_paid 1 jobs starts (fold_left (add_item b len) items m) =
  slot_paid jobs starts b len items + all_paid 1 jobs starts m.
Proof.
  induction items as [|it r IH]; intros m; cbn [fold_left slot_paid]; [reflexivity|].
  rewrite IH, all_paid_add. lia.
Qed.

Fixpoint slots_paid jobs starts (slots : list slot) : Z :=
  match slots with
  | [] => 0
  | sl :: r => slot_paid jobs starts (s_begin sl) (s_len sl) (s_items sl) + slots_paid jobs starts r
  end.

Lemma all_paid_by_job jobs starts slots : all_paid 1 jobs starts (by_job slots) = slots_paid jobs starts slots.
Proof.
  unfold by_job.
  assert (G : forall m, all_paid 1 jobs starts (fold_left add_slot slots m) =
                        slots_paid jobs starts slots + all_paid 1 jobs starts m).
  { induction slots as [|sl r IH]; intros m; cbn [fold_left slots_paid]; [reflexivity|].
    rewrite IH. unfold add_slot. rewrite all_paid_items. lia. }
  rewrite G. clear G. enough (forall i, all_paid i jobs starts (PM.empty _) = 0) as -> by lia.
  revert starts. induction jobs; destruct starts; intros; cbn [all_paid]; auto.
  rewrite IHjobs. unfold get. rewrite PM.gempty. reflexivity.
Qed.

Lemma items_in e k b len items : forall m, In e (get m k) -> In e (get (fold_left (add_item b len) items m) k).
Proof.
  induction items; cbn [fold_left]; intros; auto. apply IHitems. rewrite get_add.
  destruct (Pos.eqb _ _); cbn; auto.
Qed.

Lemma item_in b len it items : In it items -> forall m,
  In (Entry b len (size it) (cost it)) (get (fold_left (add_item b len) items m) (who it)).
Proof.
  induction items as [|y l IH]; cbn [fold_left In]; intros Hit m; [easy|]. destruct Hit as [->|Hit].
  - apply items_in. rewrite get_add, Pos.eqb_refl. cbn. auto.
  - apply IH, Hit.
Qed.

Lemma slots_in slots : forall e k m, In e (get m k) -> In e (get (fold_left add_slot slots m) k).
Proof.
  induction slots; cbn [fold_left]; intros; auto. apply IHslots. unfold add_slot. apply items_in, H.
Qed.

Lemma by_job_in slots sl it : In sl slots -> In it (s_items sl) ->
  In (Entry (s_begin sl) (s_len sl) (size it) (cost it)) (get (by_job slots) (who it)).
Proof.
  intros Hin Hit. unfold by_job. generalize (PM.empty (list entry)).
  induction slots as [|x r IH]; cbn [fold_left]; intros m; [easy|]. destruct Hin as [->|Hin].
  - apply slots_in. unfold add_slot. apply item_in, Hit.
  - apply IH, Hin.
Qed.

(** ** The checker *)

Definition job_ok (g : Z) (j : job) (l : list entry) (s : segs) : bool :=
  (0 <=? runtime j) && (0 <=? weight j) && (0 <=? nodes j) && ok_segsb s &&
  forallb (fun e => g * e_size e <=? nodes j) l.

Fixpoint costs (unit ticks : Z) (w : measure) (g : Z) (i : positive) (jobs : list job) (m : table) (total : Z) : option Z :=
  match jobs with
  | [] => Some total
  | j :: js =>
    let l := get m i in
    let a := origin j l in
    let s := to_segs a l in
    if job_ok g j l s then costs unit ticks w g (Pos.succ i) js m (total + least_cost unit ticks w j s (submit j - a)) else None
  end.

Fixpoint fullest (cap : Z) (slots : list slot) (total : Z) : Z :=
  match slots with
  | [] => total
  | sl :: r => fullest cap r (total + s_len sl * dearest cap (s_items sl))
  end.

(** The result is at most the total cost of every schedule. *)
Definition job_price_total (ticks : Z) (w : measure) (num_nodes unit g : Z) (jobs : list job) (slots : list slot) : option Z :=
  if (0 <=? unit) && (0 <? ticks) && (0 <? g) && (0 <=? num_nodes) && forallb slot_ok slots then
    match costs unit ticks w g 1 jobs (by_job slots) 0 with
    | Some total => Some (total - fullest (num_nodes / g) slots 0)
    | None => None
    end
  else None.

Lemma costs_ok unit ticks w g m jobs : 0 <= unit -> 0 < ticks ->
  forall i total result, costs unit ticks w g i jobs m total = Some result ->
  (Forall (fun j => 0 <= runtime j) jobs /\ Forall (fun j => 0 <= nodes j) jobs) /\
  forall starts, Forall2 (fun j s => submit j <= s) jobs starts ->
  (forall k j s e, look i jobs starts k = Some (j, s) -> In e (get m k) -> g * e_size e <= nodes j) /\
  result <= total + total_cost unit ticks w jobs starts + all_paid i jobs starts m.
Proof.
  intros Hu Ht. induction jobs as [|j js IH]; intros i total result H; cbn [costs] in H.
  - injection H as ->. split; [auto|]. intros starts Hst. inversion Hst; subst. cbn. split; [easy|lia].
  - set (l := get m i) in *. set (a := origin j l) in *. set (s := to_segs a l) in *.
    destruct (job_ok g j l s) eqn:Hok; [|discriminate].
    unfold job_ok in Hok. repeat (apply andb_true_iff in Hok as [Hok ?]).
    rewrite forallb_forall in H0. apply ok_segsb_ok in H1.
    apply Z.leb_le in Hok. apply Z.leb_le in H2. apply Z.leb_le in H3.
    destruct (IH _ _ _ H) as [[Hr Hn] IH']. split; [split; constructor; assumption|].
    intros starts Hst. inversion Hst as [|? x ? ss Hx Hss]; subst.
    destruct (IH' ss Hss) as [I1 I2]. split.
    + intros k j0 s0 e. cbn [look]. destruct (Pos.eqb_spec i k) as [<-|E].
      * intros [= <- <-] Hin. specialize (H0 e Hin). lia.
      * apply I1.
    + cbn [total_cost all_paid]. fold l.
      pose proof (least_cost_ok unit ticks w j l x Hu Ht H3 Hok H1 Hx) as L. fold a s in L. lia.
Qed.

Lemma fullest_ok cap slots : forall total, fullest cap slots total = total + fullest cap slots 0.
Proof.
  induction slots as [|sl r IH]; intros total; cbn [fullest]; [lia|].
  rewrite IH, (IH (0 + _)). lia.
Qed.

Theorem job_price_total_ok ticks w num_nodes unit g jobs slots bound :
  job_price_total ticks w num_nodes unit g jobs slots = Some bound ->
  forall starts, feasible num_nodes jobs starts -> bound <= total_cost unit ticks w jobs starts.
Proof.
  unfold job_price_total. intros H starts Hf.
  destruct (_ && _) eqn:C; [|discriminate].
  repeat (apply andb_true_iff in C as [C ?]).
  apply Z.leb_le in C. apply Z.ltb_lt in H3. apply Z.ltb_lt in H2. apply Z.leb_le in H1. rewrite forallb_forall in H0.
  destruct (costs unit ticks w g 1 jobs (by_job slots) 0) as [total|] eqn:Hc; [|discriminate]. injection H as <-.
  destruct (costs_ok unit ticks w g (by_job slots) jobs C H3 _ _ _ Hc) as [[Hr Hn] K].
  destruct (K starts (proj1 Hf)) as [Hsz Ht].
  rewrite all_paid_by_job in Ht.
  enough (G : forall l, (forall sl, In sl l -> In sl slots) ->
    slots_paid jobs starts l <= fullest (num_nodes / g) l 0) by (specialize (G slots ltac:(auto)); lia).
  induction l as [|sl r IH]; intros Hin; cbn [slots_paid fullest]; [lia|].
  rewrite fullest_ok.
  specialize (IH ltac:(intros; apply Hin; cbn; auto)).
  enough (slot_paid jobs starts (s_begin sl) (s_len sl) (s_items sl) <=
          s_len sl * dearest (num_nodes / g) (s_items sl)) by lia.
  apply slot_paid_le; auto.
  - apply H0, Hin. cbn. auto.
  - intros it j s Hit Hlook.
    apply (Hsz (who it) j s (Entry (s_begin sl) (s_len sl) (size it) (cost it)) Hlook).
    apply by_job_in; [apply Hin; cbn; auto|assumption].
Qed.

(** What a checker of totals has found of its input. *)
Definition valid unit ticks jobs : Prop :=
  0 <= unit /\ 0 < ticks /\ Forall (fun j => 0 <= runtime j /\ 0 <= weight j /\ 0 <= nodes j) jobs.

Lemma costs_valid unit ticks w g m jobs : forall i total result, costs unit ticks w g i jobs m total = Some result ->
  Forall (fun j => 0 <= runtime j /\ 0 <= weight j /\ 0 <= nodes j) jobs.
Proof.
  induction jobs as [|j js IH]; intros i total result H; [auto|]. cbn [costs] in H.
  destruct (job_ok _ _ _ _) eqn:Hok; [|discriminate]. unfold job_ok in Hok.
  repeat (apply andb_true_iff in Hok as [Hok ?]). specialize (IH _ _ _ H).
  constructor; [|assumption]. repeat split; apply Z.leb_le; assumption.
Qed.

Lemma job_price_total_valid ticks w num_nodes unit g jobs slots bound :
  job_price_total ticks w num_nodes unit g jobs slots = Some bound -> valid unit ticks jobs.
Proof.
  unfold job_price_total. destruct (_ && _) eqn:C; [|discriminate].
  repeat (apply andb_true_iff in C as [C ?]). apply Z.leb_le in C. apply Z.ltb_lt in H2.
  destruct (costs _ _ _ _ _ _ _ _) eqn:Hc; [|discriminate]. intros _. split; [assumption|split; [assumption|]].
  apply (costs_valid _ _ _ _ _ _ _ _ _ Hc).
Qed.

