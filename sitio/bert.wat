;; Las filas de cuatro tokens por dos filas de una matriz: ocho productos escalares, con las instrucciones del
;; procesador que hacen cuatro cuentas de una vez (SIMD). Lo usa cuentas.js, y lo ensambla pieces.py.
(module
  (memory (export "memory") 1)

  ;; La suma de los cuatro números de un vector.
  (func $sum (param $v v128) (result f32)
    (f32.add
      (f32.add (f32x4.extract_lane 0 (local.get $v)) (f32x4.extract_lane 1 (local.get $v)))
      (f32.add (f32x4.extract_lane 2 (local.get $v)) (f32x4.extract_lane 3 (local.get $v)))))

  ;; Dónde empiezan los tokens, las filas y los ocho resultados, y cuánto ocupa una fila: bytes, múltiplos de 16.
  (func (export "tile") (param $a i32) (param $v i32) (param $to i32) (param $size i32)
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
    (f32.store offset=4 (local.get $to) (call $sum (local.get $bv)))
    (f32.store offset=8 (local.get $to) (call $sum (local.get $cv)))
    (f32.store offset=12 (local.get $to) (call $sum (local.get $dv)))
    (f32.store offset=16 (local.get $to) (call $sum (local.get $aw)))
    (f32.store offset=20 (local.get $to) (call $sum (local.get $bw)))
    (f32.store offset=24 (local.get $to) (call $sum (local.get $cw)))
    (f32.store offset=28 (local.get $to) (call $sum (local.get $dw)))))
