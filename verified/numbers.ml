(* Numbers of Rocq from those of OCaml, and as decimal digits. *)
open Checker

let rec positive n = if n = 1 then XH else if n land 1 = 1 then XI (positive (n lsr 1)) else XO (positive (n lsr 1))
let z n = if n = 0 then Z0 else if n > 0 then Zpos (positive n) else Zneg (positive (-n))

let nat n =
  let rec go n rest = if n = 0 then rest else go (n - 1) (S rest) in
  go n O

(* Decimal digits, the last one first: twice the number, plus a bit. *)
let rec twice carry = function
  | [] -> if carry = 0 then [] else [ carry ]
  | digit :: rest -> ((2 * digit) + carry) mod 10 :: twice (((2 * digit) + carry) / 10) rest

let rec digits = function XH -> [ 1 ] | XO p -> twice 0 (digits p) | XI p -> twice 1 (digits p)
let decimal p = String.concat "" (List.rev_map string_of_int (digits p))
let z_of_positive p = Zpos p
let text = function Z0 -> "0" | Zpos p -> decimal p | Zneg p -> "-" ^ decimal p
