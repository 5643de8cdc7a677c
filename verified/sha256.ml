(* SHA-256 (FIPS 180-4) of the first bytes of a file. Words have 32 bits in integers of 63. *)
let low word = word land 0xffffffff
let rotate word by = low ((word lsr by) lor (word lsl (32 - by)))

(* The first 32 bits of the fractional parts of the roots of the first primes, by integer arithmetic: the greatest
   x with x^degree <= prime * 2^(32 * degree), compared digit by digit in base 2^16. *)
let primes =
  let rec next found n =
    if List.length found = 64 then List.rev found
    else next (if List.exists (fun p -> n mod p = 0) found then found else n :: found) (n + 1) in
  next [] 2

let product a b =
  let sum = Array.make (Array.length a + Array.length b) 0 in
  Array.iteri (fun i x ->
    let carry = ref 0 in
    Array.iteri (fun j y ->
      let value = sum.(i + j) + (x * y) + !carry in
      sum.(i + j) <- value land 0xffff; carry := value lsr 16) b;
    sum.(i + Array.length b) <- !carry) a;
  sum

let root degree prime =
  let limit = Array.make (4 * degree) 0 in
  limit.(2 * degree) <- prime;
  let fits x =
    let one = [| x land 0xffff; (x lsr 16) land 0xffff; x lsr 32; 0 |] in
    let rec power k = if k = 1 then one else product one (power (k - 1)) in
    let value = power degree in
    let rec compare_from i = i < 0 || value.(i) < limit.(i) || (value.(i) = limit.(i) && compare_from (i - 1)) in
    compare_from (Array.length limit - 1) in
  let rec search x bit =
    let more = x lor (1 lsl bit) in
    if bit < 0 then x else search (if fits more then more else x) (bit - 1) in
  low (search 0 37)

let constants = Array.of_list (List.map (root 3) primes)
let initial = Array.init 8 (fun i -> root 2 (List.nth primes i))

let block state bytes at =
  let w = Array.make 64 0 in
  for t = 0 to 15 do w.(t) <- low (Int32.to_int (Bytes.get_int32_be bytes (at + (4 * t)))) done;
  for t = 16 to 63 do
    let x = w.(t - 15) and y = w.(t - 2) in
    let s0 = rotate x 7 lxor rotate x 18 lxor (x lsr 3) and s1 = rotate y 17 lxor rotate y 19 lxor (y lsr 10) in
    w.(t) <- low (w.(t - 16) + s0 + w.(t - 7) + s1)
  done;
  let v = Array.copy state in
  for t = 0 to 63 do
    let a = v.(0) and e = v.(4) in
    let s1 = rotate e 6 lxor rotate e 11 lxor rotate e 25 and choice = (e land v.(5)) lxor (lnot e land v.(6)) in
    let t1 = v.(7) + s1 + choice + constants.(t) + w.(t) in
    let s0 = rotate a 2 lxor rotate a 13 lxor rotate a 22 in
    let majority = (a land v.(1)) lxor (a land v.(2)) lxor (v.(1) land v.(2)) in
    Array.blit v 0 v 1 7;
    v.(4) <- low (v.(4) + t1);
    v.(0) <- low (t1 + s0 + majority)
  done;
  Array.iteri (fun i x -> state.(i) <- low (state.(i) + x)) v

let of_file name length =
  let padded = (length + 9 + 63) / 64 * 64 in
  let bytes = Bytes.make padded '\000' in
  let channel = open_in_bin name in
  really_input channel bytes 0 length;
  close_in channel;
  Bytes.set bytes length '\128';
  Bytes.set_int64_be bytes (padded - 8) (Int64.of_int (8 * length));
  let state = Array.copy initial in
  for k = 0 to (padded / 64) - 1 do block state bytes (64 * k) done;
  String.concat "" (Array.to_list (Array.map (Printf.sprintf "%08x") state))
