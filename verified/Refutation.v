(** * Refutations of clauses by unit propagation with hints

    This is the format LRAT without resolution asymmetric tautologies: each line names the clauses that become
    units one after the other, if none of its own literals holds, until one has no literal left. *)
From Coq Require Import ZArith List Lia Bool FMapPositive.
From Allocsolve Require Import Clauses.
Import ListNotations.
Module PM := PositiveMap.

Definition lits := list literal.

Definition sat_lit (v : positive -> bool) (l : literal) : bool := if fst l then v (snd l) else negb (v (snd l)).
Definition sat (v : positive -> bool) (c : lits) : bool :=
  existsb (fun l : literal => if fst l then v (snd l) else negb (v (snd l))) c.

(** The values of the variables that are assumed or derived. *)
Definition partial := PM.t bool.
Definition is_false (a : partial) (l : literal) : bool :=
  match PM.find (snd l) a with Some b => negb (Bool.eqb b (fst l)) | None => false end.

Inductive outcome := Conflict | Unit (l : literal) | Other.
Fixpoint scan (a : partial) (c : lits) (found : option literal) : outcome :=
  match c with
  | [] => match found with None => Conflict | Some l => Unit l end
  | l :: r => if is_false a l then scan a r found else match found with None => scan a r (Some l) | Some _ => Other end
  end.

Fixpoint run (db : PM.t lits) (hints : list positive) (a : partial) : bool :=
  match hints with
  | [] => false
  | h :: r =>
    match PM.find h db with
    | None => false
    | Some c => match scan a c None with Conflict => true | Unit l => run db r (PM.add (snd l) (fst l) a) | Other => false end
    end
  end.

Definition negated (c : lits) : partial := fold_left (fun a l => PM.add (snd l) (negb (fst l)) a) c (PM.empty _).

Record line := Line { id : positive; derived : lits; hints : list positive }.
Fixpoint refutes (db : PM.t lits) (lines : list line) : bool :=
  match lines with
  | [] => false
  | l :: r => if run db (hints l) (negated (derived l))
              then match derived l with [] => true | _ => refutes (PM.add (id l) (derived l) db) r end else false
  end.

Fixpoint numbered (i : positive) (cnf : list (kind * lits)) (db : PM.t lits) : PM.t lits :=
  match cnf with [] => db | c :: r => numbered (Pos.succ i) r (PM.add i (snd c) db) end.

Definition agrees (v : positive -> bool) (a : partial) : Prop := forall k b, PM.find k a = Some b -> v k = b.
Definition models (v : positive -> bool) (db : PM.t lits) : Prop := forall k c, PM.find k db = Some c ->
  sat v c = true.

Lemma agrees_add v a k b : agrees v a -> v k = b -> agrees v (PM.add k b a).
Proof.
  intros H E k' b' F. destruct (Pos.eq_dec k k') as [<-|N].
  - rewrite PM.gss in F. congruence.
  - rewrite PM.gso in F by congruence. apply H, F.
Qed.

Lemma is_false_ok v a l : agrees v a -> is_false a l = true -> sat_lit v l = false.
Proof.
  unfold is_false, sat_lit. intros H. destruct (PM.find (snd l) a) as [b|] eqn:E; [|discriminate].
  rewrite (H _ _ E). destruct b, (fst l); cbn; congruence.
Qed.

Lemma scan_ok v a c : agrees v a -> forall found,
  (sat v c = true \/ match found with Some l => sat_lit v l = true | None => False end) ->
  match scan a c found with Conflict => False | Unit l => sat_lit v l = true | Other => True end.
Proof.
  intros H. induction c as [|l r IH]; intros found K; cbn [scan].
  - destruct found; destruct K as [K|K]; auto; discriminate K.
  - destruct (is_false a l) eqn:F.
    + apply IH. destruct K as [K|K]; [left|right; exact K]. unfold sat in *. cbn [existsb] in K.
      pose proof (is_false_ok v a l H F) as N. unfold sat_lit in N. rewrite N in K. exact K.
    + destruct found; [exact I|]. apply IH. destruct K as [K|[]]. unfold sat in *. cbn [existsb] in K.
      apply orb_true_iff in K as [K|K]; [right; exact K|left; exact K].
Qed.

Lemma run_ok v db : models v db -> forall hs a, agrees v a -> run db hs a = true -> False.
Proof.
  intros M. induction hs as [|h r IH]; intros a H R; cbn [run] in R; [discriminate|].
  destruct (PM.find h db) as [c|] eqn:E; [|discriminate].
  pose proof (scan_ok v a c H None (or_introl (M _ _ E))) as S.
  destruct (scan a c None) as [|l|]; [exact S| |discriminate].
  apply (IH (PM.add (snd l) (fst l) a)); [|exact R]. apply agrees_add; [exact H|].
  unfold sat_lit in S. destruct l as [s k]; cbn in *. destruct s; [exact S|].
  destruct (v k); [discriminate|reflexivity].
Qed.

Lemma negated_ok v c : sat v c = false -> agrees v (negated c).
Proof.
  unfold negated. assert (G : forall a, agrees v a -> sat v c = false ->
    agrees v (fold_left (fun a l => PM.add (snd l) (negb (fst l)) a) c a)).
  { induction c as [|l r IH]; intros a H S; cbn [fold_left]; [exact H|]. unfold sat in S. cbn [existsb] in S.
    apply orb_false_iff in S as [S1 S2]. apply IH; [|exact S2]. apply agrees_add; [exact H|].
    destruct l as [s k]; cbn in *. destruct s; cbn; [exact S1|]. destruct (v k); [reflexivity|discriminate]. }
  intros S. apply G; [|exact S]. intros k b F. rewrite PM.gempty in F. discriminate.
Qed.

Lemma refutes_ok v lines : forall db, models v db -> refutes db lines = true -> False.
Proof.
  induction lines as [|l r IH]; intros db M R; cbn [refutes] in R; [discriminate|].
  destruct (run db (hints l) (negated (derived l))) eqn:E; [|discriminate].
  assert (S : sat v (derived l) = true).
  { destruct (sat v (derived l)) eqn:S; [reflexivity|exfalso].
    apply (run_ok v db M _ _ (negated_ok v _ S) E). }
  destruct (derived l) as [|x y] eqn:D; [discriminate S|].
  apply (IH (PM.add (id l) (x :: y) db)); [|exact R]. intros k c F.
  destruct (Pos.eq_dec (id l) k) as [<-|N].
  - rewrite PM.gss in F. congruence.
  - rewrite PM.gso in F by congruence. apply (M _ _ F).
Qed.

Lemma numbered_ok v cnf : satisfies v (map snd cnf) -> forall i db, models v db -> models v (numbered i cnf db).
Proof.
  unfold satisfies. induction cnf as [|c r IH]; cbn [map numbered]; intros S i db M; [exact M|].
  inversion S as [|? ? H Sr]; subst. apply IH; [exact Sr|]. intros k c' F.
  destruct (Pos.eq_dec i k) as [<-|N].
  - rewrite PM.gss in F. injection F as <-. exact H.
  - rewrite PM.gso in F by congruence. apply (M _ _ F).
Qed.

Lemma refuted cnf lines : refutes (numbered 1 cnf (PM.empty _)) lines = true -> forall v, ~ satisfies v (map snd cnf).
Proof.
  intros R v S. apply (refutes_ok v lines _ (numbered_ok v cnf S _ _ ltac:(intros k c F; rewrite PM.gempty in F;
    discriminate)) R).
Qed.
