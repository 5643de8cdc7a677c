(** * Clauses that hold for every schedule of evolution profiles that ends by a horizon

    A clause is a list of facts about differences of start times, of which at least one holds. If no assignment
    of truth values satisfies all clauses, then no schedule ends by the horizon. *)
From Coq Require Import ZArith List Lia Bool FMapPositive.
From Allocsolve Require Import Statement.
Import ListNotations.
Open Scope Z_scope.

(** ** Facts and clauses *)

(** The point [later] is at least [gap] seconds after the point [earlier]. Points are the starts of applications,
    which are numbered from 0 on; the point behind the last one is time 0. *)
Record fact := Fact { earlier : nat; later : nat; gap : Z }.

Definition time (starts : list Z) (p : nat) : Z := nth p starts 0.
Definition holds (starts : list Z) (f : fact) : bool := gap f <=? time starts (later f) - time starts (earlier f).
Definition negation (f : fact) : fact := Fact (later f) (earlier f) (1 - gap f).
Definition clause := list fact.
Definition holds_clause starts (c : clause) : bool := existsb (holds starts) c.

Definition fact_eqb (f g : fact) : bool := Nat.eqb (earlier f) (earlier g) && Nat.eqb (later f) (later g) &&
  (gap f =? gap g).

Lemma fact_eqb_ok f g : fact_eqb f g = true -> f = g.
Proof.
  destruct f, g. unfold fact_eqb. cbn. intros H. apply andb_true_iff in H as [H E].
  apply andb_true_iff in H as [H1 H2].
  apply Nat.eqb_eq in H1, H2. apply Z.eqb_eq in E. congruence.
Qed.

Lemma holds_negation starts f : holds starts (negation f) = negb (holds starts f).
Proof.
  unfold holds, negation. cbn [gap earlier later].
  destruct (Z.leb_spec (gap f) (time starts (later f) - time starts (earlier f))); cbn [negb];
    [apply Z.leb_gt|apply Z.leb_le]; lia.
Qed.

(** ** Three kinds of clauses *)

(** A clause says that an application starts after its release; that it ends by the horizon; that facts whose
    negations form a cycle of positive length are not all false; or that of blocks that do not fit on the machine
    together, one ends before another one starts. A block is [count] steps of its owner, from [first] on. *)
Record block := Block { owner : nat; first : nat; count : nat }.
Inductive kind := Release (p : nat) | Deadline (p : nat) | Cycle | Cover (blocks : list block).

(** The negation of a fact leads from its later point to its earlier one, and is 1 - gap long. *)
Fixpoint path_length (at_ : nat) (c : clause) (total : Z) : option (nat * Z) :=
  match c with
  | [] => Some (at_, total)
  | f :: r => if Nat.eqb (later f) at_ then path_length (earlier f) r (total + (1 - gap f)) else None
  end.

Lemma path_length_ok starts c : forall at_ total p q, path_length at_ c total = Some (p, q) ->
  holds_clause starts c = false -> q - total <= time starts p - time starts at_.
Proof.
  induction c as [|f r IH]; cbn [path_length holds_clause existsb]; intros at_ total p q H Hc.
  - injection H as <- <-. lia.
  - apply orb_false_iff in Hc as [Hf Hr]. destruct (Nat.eqb_spec (later f) at_) as [<-|]; [|discriminate].
    specialize (IH _ _ _ _ H Hr). unfold holds in Hf. apply Z.leb_gt in Hf. lia.
Qed.

Definition is_cycle (c : clause) : bool :=
  match c with
  | [] => false
  | f :: _ => match path_length (later f) c 0 with Some (p, q) => Nat.eqb p (later f) && (0 <? q) | None => false end
  end.

Lemma is_cycle_ok starts c : is_cycle c = true -> holds_clause starts c = true.
Proof.
  unfold is_cycle. destruct c as [|f r]; [discriminate|]. set (c := f :: r).
  destruct (path_length (later f) c 0) as [[p q]|] eqn:E; [|discriminate]. intros H.
  apply andb_true_iff in H as [Hp Hq]. apply Nat.eqb_eq in Hp. apply Z.ltb_lt in Hq.
  destruct (holds_clause starts c) eqn:Hc; [reflexivity|]. pose proof (path_length_ok starts c _ _ _ _ E Hc) as K.
  rewrite Hp in K. lia.
Qed.

(** The seconds from the start of an application to that of a step, and the least nodes of some steps. *)
Definition offset (a : application) (i : nat) : Z := duration (firstn i (steps a)).
Fixpoint least (s : list (Z * Z)) : Z := match s with [] => 0 | [(_, n)] => n | (_, n) :: r => Z.min n (least r) end.
Definition block_steps (a : application) (b : block) := firstn (count b) (skipn (first b) (steps a)).
Definition b_begin apps b := offset (nth (owner b) apps (Application 0 [])) (first b).
Definition b_length apps b := duration (block_steps (nth (owner b) apps (Application 0 [])) b).
Definition b_nodes apps b := least (block_steps (nth (owner b) apps (Application 0 [])) b).

(** The block [c] starts when [b] has ended, or later. *)
Definition ends_before apps (b c : block) : fact :=
  Fact (owner b) (owner c) (b_begin apps b + b_length apps b - b_begin apps c).

Fixpoint rising (low : nat) (blocks : list block) : bool :=
  match blocks with [] => true | b :: r => (low <=? owner b)%nat && rising (S (owner b)) r end.

Definition in_clause (f : fact) (c : clause) : bool := existsb (fact_eqb f) c.

Definition is_cover num_nodes (apps : list application) (blocks : list block) (c : clause) : bool :=
  match blocks with [] => false | _ => true end && rising 0 blocks &&
  forallb (fun b => (owner b <? length apps)%nat && (0 <? b_length apps b)) blocks &&
  (num_nodes <? fold_right (fun b s => b_nodes apps b + s) 0 blocks) &&
  forallb (fun b => forallb (fun d => Nat.eqb (owner b) (owner d) ||
    in_clause (ends_before apps b d) c) blocks) blocks.

Definition good_app (a : application) : bool := forallb (fun s => (0 <? fst s) && (0 <=? snd s)) (steps a).

Lemma length_nonneg s : forallb (fun s => (0 <? fst s) && (0 <=? snd s)) s = true -> 0 <= duration s.
Proof. induction s as [|[d n] r IH]; cbn; intros H; [lia|]. apply andb_true_iff in H as [H Hr].
  apply andb_true_iff in H as [H _].
  apply Z.ltb_lt in H. specialize (IH Hr). lia. Qed.

Lemma held_nonneg s : forallb (fun s => (0 <? fst s) && (0 <=? snd s)) s = true -> forall t, 0 <= held s t.
Proof. induction s as [|[d n] r IH]; cbn; intros H t; [lia|]. apply andb_true_iff in H as [H Hr].
  apply andb_true_iff in H as [_ H].
  apply Z.leb_le in H. destruct (t <? 0), (t <? d); auto; lia. Qed.

Lemma least_cons d n r : r <> [] -> least ((d, n) :: r) = Z.min n (least r).
Proof. destruct r; [easy|reflexivity]. Qed.

Lemma held_prefix s : forallb (fun s => (0 <? fst s) && (0 <=? snd s)) s = true -> forall k t,
  0 <= t < duration (firstn k s) -> least (firstn k s) <= held s t.
Proof.
  induction s as [|[d n] r IH]; intros H k t Ht; [destruct k; cbn in Ht; lia|].
  destruct k; [cbn in Ht; lia|]. cbn [firstn duration held] in *.
  cbn in H. apply andb_true_iff in H as [H Hr].
  destruct (Z.ltb_spec t 0); [lia|]. destruct (firstn k r) as [|x l] eqn:E.
  - cbn in *. destruct (Z.ltb_spec t d); lia.
  - rewrite least_cons by easy. rewrite <- E in *. destruct (Z.ltb_spec t d); [lia|].
    specialize (IH Hr k (t - d) ltac:(lia)). lia.
Qed.

Lemma held_block s i : forallb (fun s => (0 <? fst s) && (0 <=? snd s)) s = true -> forall k t,
  0 <= t - duration (firstn i s) < duration (firstn k (skipn i s)) -> least (firstn k (skipn i s)) <= held s t.
Proof.
  revert s. induction i; intros s H k t Ht.
  - cbn in *. apply held_prefix; [assumption|lia].
  - destruct s as [|[d n] r]; [cbn [skipn firstn duration] in Ht; rewrite firstn_nil in Ht; cbn in Ht; lia|].
    cbn [skipn firstn duration held] in *. cbn in H. apply andb_true_iff in H as [H Hr].
    apply andb_true_iff in H as [H _].
    apply Z.ltb_lt in H.
    assert (0 <= duration (firstn i r)).
    { apply length_nonneg. rewrite forallb_forall in Hr |- *. intros y Hy. apply Hr. rewrite <- (firstn_skipn i r).
      apply in_or_app. auto. }
    destruct (Z.ltb_spec t 0); [lia|]. destruct (Z.ltb_spec t d); [lia|]. apply IHi; [assumption|lia].
Qed.

(** At an instant when all blocks run, their applications hold at least the sum of their nodes. *)
Lemma use_blocks all t : forall apps starts k blocks,
  forallb good_app apps = true -> length apps = length starts -> rising k blocks = true ->
  (forall b, In b blocks -> (owner b < k + length apps)%nat /\
     b_nodes all b <= held (steps (nth (owner b - k) apps (Application 0 []))) (t - nth (owner b - k) starts 0)) ->
  fold_right (fun b s => b_nodes all b + s) 0 blocks <= nodes_held apps starts t.
Proof.
  induction apps as [|a r IH]; intros [|x xs] k blocks Hg Hl Hr Hb; try discriminate.
  - destruct blocks as [|b bs]; [cbn; lia|]. cbn in Hr. apply andb_true_iff in Hr as [Hr _]. apply Nat.leb_le in Hr.
    destruct (Hb b ltac:(cbn; auto)). cbn in *. lia.
  - cbn in Hg. apply andb_true_iff in Hg as [Ha Hg]. injection Hl as Hl. cbn [nodes_held].
    pose proof (held_nonneg _ Ha (t - x)) as Hn.
    assert (G : forall bs, rising (S k) bs = true -> (forall b, In b bs -> In b blocks) ->
      fold_right (fun b s => b_nodes all b + s) 0 bs <= nodes_held r xs t).
    { intros bs Hbs Hin. apply IH with (k := S k); auto. intros b Hb'. destruct (Hb b (Hin b Hb')) as [B1 B2].
      assert (S k <= owner b)%nat.
      { clear - Hbs Hb'. revert Hbs Hb'. generalize (S k). induction bs as [|y l IHl]; cbn; intros m H [].
        - subst. apply andb_true_iff in H as [H _]. apply Nat.leb_le, H.
        - apply andb_true_iff in H as [H H']. apply Nat.leb_le in H. specialize (IHl _ H' H0). lia. }
      split; [cbn in B1; lia|]. replace (owner b - k)%nat with (S (owner b - S k)) in B2 by lia. exact B2. }
    destruct blocks as [|b bs]; [cbn; specialize (G [] eq_refl ltac:(easy)); cbn in G; lia|].
    cbn in Hr. apply andb_true_iff in Hr as [Hr Hbs]. apply Nat.leb_le in Hr.
    destruct (Nat.eq_dec (owner b) k) as [E|E].
    + cbn [fold_right]. rewrite E in Hbs. specialize (G bs Hbs ltac:(cbn; auto)).
      destruct (Hb b ltac:(cbn; auto)) as [_ B]. rewrite E, Nat.sub_diag in B. cbn in B. lia.
    + assert (rising (S k) (b :: bs) = true) as Hr'.
      { change ((S k <=? owner b)%nat && rising (S (owner b)) bs = true).
        apply andb_true_iff; split; [apply Nat.leb_le; lia|assumption]. }
      specialize (G _ Hr' ltac:(auto)). lia.
Qed.

Lemma Forall2_length {A B} {P : A -> B -> Prop} {l m} : Forall2 P l m -> length l = length m.
Proof. induction 1; cbn; congruence. Qed.

Lemma latest_begin (g : block -> Z) blocks : blocks <> [] -> exists m, In m blocks /\ forall b, In b blocks ->
  g b <= g m.
Proof.
  induction blocks as [|b r IH]; [easy|]. intros _. destruct r as [|c l].
  - exists b. split; [cbn; auto|]. intros y [->|[]]. lia.
  - destruct (IH ltac:(easy)) as (m & Hm & Hmax). destruct (Z_le_gt_dec (g b) (g m)).
    + exists m. split; [cbn; cbn in Hm; auto|]. intros y [->|Hy]; auto.
    + exists b. split; [cbn; auto|]. intros y [->|Hy]; [lia|]. specialize (Hmax y Hy). lia.
Qed.

Lemma is_cover_ok num_nodes horizon apps starts blocks c :
  forallb good_app apps = true -> ends_by num_nodes horizon apps starts ->
  is_cover num_nodes apps blocks c = true -> holds_clause starts c = true.
Proof.
  intros Hg [Hs Hu] H. unfold is_cover in H. repeat (apply andb_true_iff in H as [H ?]).
  assert (Hne : blocks <> []) by (destruct blocks; [discriminate|easy]).
  rewrite forallb_forall in H2. apply Z.ltb_lt in H1. rewrite forallb_forall in H0.
  destruct (holds_clause starts c) eqn:Hc; [reflexivity|exfalso].
  pose (g := fun b => time starts (owner b) + b_begin apps b).
  destruct (latest_begin g blocks Hne) as (m & Hm & Hmax).
  pose proof (Forall2_length Hs) as Hlen.
  enough (fold_right (fun b s => b_nodes apps b + s) 0 blocks <= nodes_held apps starts (g m)) by (specialize (Hu (g m)); lia).
  apply use_blocks with (k := O); auto. intros b Hb.
  specialize (H2 b Hb). apply andb_true_iff in H2 as [Hw Hpos]. apply Nat.ltb_lt in Hw. apply Z.ltb_lt in Hpos.
  rewrite Nat.sub_0_r. split; [lia|]. unfold b_nodes, block_steps.
  assert (Ga : good_app (nth (owner b) apps (Application 0 [])) = true).
  { rewrite forallb_forall in Hg. apply Hg, nth_In, Hw. }
  apply held_block; [exact Ga|].
  change (duration (firstn (first b) (steps (nth (owner b) apps (Application 0 []))))) with (b_begin apps b).
  change (duration (firstn (count b) (skipn (first b) (steps (nth (owner b) apps (Application 0 [])))))) with (b_length apps b).
  change (nth (owner b) starts 0) with (time starts (owner b)).
  pose proof (Hmax b Hb) as Hle. unfold g in *.
  enough (time starts (owner m) + b_begin apps m < time starts (owner b) + b_begin apps b + b_length apps b) by lia.
  specialize (H0 b Hb). rewrite forallb_forall in H0. specialize (H0 m Hm). apply orb_true_iff in H0 as [E|E].
  - apply Nat.eqb_eq in E. assert (m = b) as ->; [|lia].
    clear - H3 Hm Hb E. revert H3 Hm Hb. generalize O. induction blocks as [|y l IH]; cbn; intros k Hr Hm Hb; [easy|].
    apply andb_true_iff in Hr as [_ Hr].
    assert (L : forall l k z, rising k l = true -> In z l -> (k <= owner z)%nat).
    { clear. induction l; cbn; intros k z H []; apply andb_true_iff in H as [H H']; apply Nat.leb_le in H; [subst;
      assumption|].
      specialize (IHl _ _ H' H0). lia. }
    destruct Hm as [->|Hm], Hb as [->|Hb]; auto.
    + specialize (L _ _ _ Hr Hb). lia.
    + specialize (L _ _ _ Hr Hm). lia.
    + eapply IH; eauto.
  - unfold in_clause in E. apply existsb_exists in E as (f & Hf & E). apply fact_eqb_ok in E. subst f.
    assert (N : holds starts (ends_before apps b m) = false).
    { destruct (holds starts (ends_before apps b m)) eqn:N; [|reflexivity]. exfalso.
      enough (holds_clause starts c = true) by congruence. apply existsb_exists. eauto. }
    unfold holds, ends_before in N. cbn in N. apply Z.leb_gt in N. lia.
Qed.

(** ** The checker *)

Definition is_window horizon (apps : list application) (k : kind) (c : clause) : bool :=
  match k with
  | Release p => (p <? length apps)%nat &&
    in_clause (Fact (length apps) p (release (nth p apps (Application 0 [])))) c
  | Deadline p => (p <? length apps)%nat &&
                  in_clause (Fact p (length apps) (duration (steps (nth p apps (Application 0 []))) - horizon)) c
  | _ => false
  end.

Definition valid_clause num_nodes horizon apps (kc : kind * clause) : bool :=
  let (k, c) := kc in
  match k with
  | Cycle => is_cycle c
  | Cover blocks => is_cover num_nodes apps blocks c
  | _ => is_window horizon apps k c
  end.

Lemma in_clause_ok starts f c : in_clause f c = true -> holds starts f = true -> holds_clause starts c = true.
Proof.
  unfold in_clause, holds_clause. intros H Hf. apply existsb_exists in H as (g & Hg & E). apply fact_eqb_ok in E.
  subst g.
  apply existsb_exists. eauto.
Qed.

Lemma valid_clause_ok num_nodes horizon apps starts kc :
  forallb good_app apps = true -> ends_by num_nodes horizon apps starts ->
  valid_clause num_nodes horizon apps kc = true -> holds_clause starts (snd kc) = true.
Proof.
  destruct kc as [k c]. intros Hg Hs H. cbn [snd].
  assert (W : forall p, (p < length apps)%nat ->
    release (nth p apps (Application 0 [])) <= time starts p /\ time starts p + duration (steps (nth p apps (Application 0 []))) <= horizon).
  { destruct Hs as [Hs _]. clear - Hs. induction Hs; intros p Hp; cbn in Hp; [lia|]. destruct p; cbn; [assumption|].
    apply IHHs. lia. }
  assert (Z : time starts (length apps) = 0).
  { destruct Hs as [Hs _]. rewrite (Forall2_length Hs). unfold time. apply nth_overflow. lia. }
  destruct k; cbn in H.
  - apply andb_true_iff in H as [Hp H]. apply Nat.ltb_lt in Hp. apply (in_clause_ok _ _ _ H). unfold holds. cbn.
    rewrite Z. apply Z.leb_le. specialize (W p Hp). lia.
  - apply andb_true_iff in H as [Hp H]. apply Nat.ltb_lt in Hp. apply (in_clause_ok _ _ _ H). unfold holds. cbn.
    rewrite Z. apply Z.leb_le. specialize (W p Hp). lia.
  - apply is_cycle_ok, H.
  - eapply is_cover_ok; eauto.
Qed.

(** A variable of the clauses stands for a fact, and its negation for the negation of that fact. *)
Definition names := PositiveMap.t fact.
Definition literal := (bool * positive)%type.
Definition named (m : names) (l : literal) : option fact :=
  match PositiveMap.find (snd l) m with
  | Some f => Some (if fst l then f else negation f)
  | None => None
  end.
Fixpoint named_clause (m : names) (c : list literal) : option clause :=
  match c with
  | [] => Some []
  | l :: r => match named m l, named_clause m r with Some f, Some fs => Some (f :: fs) | _, _ => None end
  end.

Definition check_clause num_nodes horizon apps (m : names) (kc : kind * list literal) : bool :=
  match named_clause m (snd kc) with Some c => valid_clause num_nodes horizon apps (fst kc, c) | None => false end.

Definition check_cnf num_nodes horizon apps (m : names) (cnf : list (kind * list literal)) : bool :=
  forallb good_app apps && forallb (check_clause num_nodes horizon apps m) cnf.

(** An assignment satisfies clauses as in every SAT checker. *)
Definition satisfies (v : positive -> bool) (cnf : list (list literal)) : Prop :=
  Forall (fun c => existsb (fun l : literal => if fst l then v (snd l) else negb (v (snd l))) c = true) cnf.

Definition values (m : names) starts (k : positive) : bool :=
  match PositiveMap.find k m with Some f => holds starts f | None => false end.

Lemma named_clause_ok m starts c : forall fs, named_clause m c = Some fs ->
  existsb (fun l : literal => if fst l then values m starts (snd l) else negb (values m starts (snd l))) c = holds_clause starts fs.
Proof.
  induction c as [|[s k] r IH]; intros fs H; cbn [named_clause] in H.
  - injection H as <-. reflexivity.
  - destruct (named m (s, k)) as [f|] eqn:N; [|discriminate].
    destruct (named_clause m r) as [l|]; [|discriminate]. injection H as <-.
    unfold holds_clause. cbn [existsb]. fold (holds_clause starts l). rewrite <- (IH l eq_refl). f_equal.
    unfold named in N. cbn [fst snd] in *. unfold values. destruct (PositiveMap.find k m); [|discriminate].
    injection N as <-. destruct s; [reflexivity|]. symmetry. apply holds_negation.
Qed.

(** A SAT checker verifies that no assignment satisfies the clauses. Then no schedule ends by the horizon. *)
Theorem check_cnf_ok num_nodes horizon apps m cnf :
  check_cnf num_nodes horizon apps m cnf = true ->
  (forall v, ~ satisfies v (map snd cnf)) ->
  forall starts, ~ ends_by num_nodes horizon apps starts.
Proof.
  intros H Hunsat starts Hs. apply andb_true_iff in H as [Hg H]. apply (Hunsat (values m starts)).
  unfold satisfies. apply Forall_forall. intros c Hc. apply in_map_iff in Hc as ([k c'] & <- & Hin). cbn [snd].
  rewrite forallb_forall in H. specialize (H _ Hin). unfold check_clause in H. cbn [fst snd] in H.
  destruct (named_clause m c') as [fs|] eqn:E; [|discriminate].
  rewrite (named_clause_ok m starts c' fs E). apply (valid_clause_ok _ _ _ _ _ Hg Hs H).
Qed.

