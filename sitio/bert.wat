;; El producto X · Wᵀ, con las instrucciones del procesador que hacen cuatro cuentas de una vez (SIMD), en la memoria
;; de quien lo usa: cuentas.js y obrero.js. Lo ensambla pieces.py.
(module
  (import "page" "memory" (memory 1))

  ;; La suma de los cuatro números de un vector.
  (func $sum (param $v v128) (result f32)
    (f32.add
      (f32.add (f32x4.extract_lane 0 (local.get $v)) (f32x4.extract_lane 1 (local.get $v)))
      (f32.add (f32x4.extract_lane 2 (local.get $v)) (f32x4.extract_lane 3 (local.get $v)))))

  ;; Cuatro filas de X por dos de W: ocho productos escalares. Cada número se lee menos veces.
  ;; Dónde empiezan, y los resultados; y cuánto ocupa una fila de X y de W, múltiplo de 16, y una de lo que sale: bytes.
  (func $tile (param $a i32) (param $v i32) (param $to i32) (param $size i32) (param $row i32)
    (local $b i32) (local $c i32) (local $d i32) (local $w i32) (local $end i32)
    (local $x v128) (local $vi v128) (local $wi v128)
    (local $av v128) (local $bv v128) (local $cv v128) (local $dv v128)
    (local $aw v128) (local $bw v128) (local $cw v128) (local $dw v128)
    (local.set $b (i32.add (local.get $a) (local.get $size)))
    (local.set $c (i32.add (local.get $b) (local.get $size)))
    (local.set $d (i32.add (local.get $c) (local.get $size)))
    (local.set $w (i32.add (local.get $v) (local.get $size)))
    (local.set $end (local.get $w))
    (loop $next
      (local.set $vi (v128.load (local.get $v)))
      (local.set $wi (v128.load (local.get $w)))
      (local.set $x (v128.load (local.get $a)))
      (local.set $av (f32x4.add (local.get $av) (f32x4.mul (local.get $x) (local.get $vi))))
      (local.set $aw (f32x4.add (local.get $aw) (f32x4.mul (local.get $x) (local.get $wi))))
      (local.set $x (v128.load (local.get $b)))
      (local.set $bv (f32x4.add (local.get $bv) (f32x4.mul (local.get $x) (local.get $vi))))
      (local.set $bw (f32x4.add (local.get $bw) (f32x4.mul (local.get $x) (local.get $wi))))
      (local.set $x (v128.load (local.get $c)))
      (local.set $cv (f32x4.add (local.get $cv) (f32x4.mul (local.get $x) (local.get $vi))))
      (local.set $cw (f32x4.add (local.get $cw) (f32x4.mul (local.get $x) (local.get $wi))))
      (local.set $x (v128.load (local.get $d)))
      (local.set $dv (f32x4.add (local.get $dv) (f32x4.mul (local.get $x) (local.get $vi))))
      (local.set $dw (f32x4.add (local.get $dw) (f32x4.mul (local.get $x) (local.get $wi))))
      (local.set $a (i32.add (local.get $a) (i32.const 16)))
      (local.set $b (i32.add (local.get $b) (i32.const 16)))
      (local.set $c (i32.add (local.get $c) (i32.const 16)))
      (local.set $d (i32.add (local.get $d) (i32.const 16)))
      (local.set $w (i32.add (local.get $w) (i32.const 16)))
      (br_if $next
        (i32.lt_u (local.tee $v (i32.add (local.get $v) (i32.const 16))) (local.get $end))))
    (f32.store offset=0 (local.get $to) (call $sum (local.get $av)))
    (f32.store offset=4 (local.get $to) (call $sum (local.get $aw)))
    (f32.store offset=0 (local.tee $to (i32.add (local.get $to) (local.get $row))) (call $sum (local.get $bv)))
    (f32.store offset=4 (local.get $to) (call $sum (local.get $bw)))
    (f32.store offset=0 (local.tee $to (i32.add (local.get $to) (local.get $row))) (call $sum (local.get $cv)))
    (f32.store offset=4 (local.get $to) (call $sum (local.get $cw)))
    (f32.store offset=0 (local.tee $to (i32.add (local.get $to) (local.get $row))) (call $sum (local.get $dv)))
    (f32.store offset=4 (local.get $to) (call $sum (local.get $dw))))

  ;; Dónde empiezan X, W y lo que sale; cuántas filas tienen X, de cuatro en cuatro, y W, que son pares; y cuánto
  ;; ocupa una, en bytes. Dos filas de W se quedan cerca del procesador mientras pasan por ellas todas las de X.
  (func (export "multiply")
    (param $x i32) (param $w i32) (param $y i32) (param $n i32) (param $m i32) (param $size i32)
    (local $a i32) (local $to i32) (local $i i32) (local $j i32) (local $row i32)
    (local.set $row (i32.shl (local.get $m) (i32.const 2)))
    (loop $next_w
      (local.set $a (local.get $x))
      (local.set $to (i32.add (local.get $y) (i32.shl (local.get $j) (i32.const 2))))
      (local.set $i (i32.const 0))
      (loop $next_x
        (call $tile (local.get $a) (local.get $w) (local.get $to) (local.get $size) (local.get $row))
        (local.set $a (i32.add (local.get $a) (i32.shl (local.get $size) (i32.const 2))))
        (local.set $to (i32.add (local.get $to) (i32.shl (local.get $row) (i32.const 2))))
        (br_if $next_x (i32.lt_u (local.tee $i (i32.add (local.get $i) (i32.const 4))) (local.get $n))))
      (local.set $w (i32.add (local.get $w) (i32.shl (local.get $size) (i32.const 1))))
      (br_if $next_w (i32.lt_u (local.tee $j (i32.add (local.get $j) (i32.const 2))) (local.get $m))))))
