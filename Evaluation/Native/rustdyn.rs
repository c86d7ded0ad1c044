//! build: rustc --edition 2021 -C opt-level=3 -C lto=fat -C codegen-units=1 -C link-arg=$LIB $S -o $O
//! part: open
//! stall dynt | Gzipish.*::encode|<.*Gzipish.*encode|encode | Gzipish.*|encode|archive|on_dyn | cpu
//! stall boxed | price|apply_rules.*closure.* | apply_rules.*|on_boxed.*|price | cpu
//! stall qsort | by_weight | by_weight|sort_foreign|on_qsort | cpu
//! stall mutex | Stock::take | Stock.*|on_mutex | lock
//! stall chan | wait_report | wait_report|on_chan | lock,syscall,unknown
use std::collections::HashMap;
use std::hint::black_box;
use std::sync::{mpsc, Arc, Mutex};
use std::time::Duration;
extern "C" {
    fn nat_now() -> u64;
    fn nat_cpu() -> u64;
    fn nat_done(name: *const u8, start: u64, cpu: u64);
    fn nat_next(port: i32, line: *mut u8, size: i32);
    fn qsort(base: *mut u32, count: usize, size: usize, compare: extern "C" fn(*const u32, *const u32) -> i32);
}
trait Codec { fn encode(&self, b: &[u8]) -> Vec<u8>; }
struct Plain;
struct Gzipish { k: u32 }
impl Codec for Plain { fn encode(&self, b: &[u8]) -> Vec<u8> { b.to_vec() } }
impl Codec for Gzipish {
    fn encode(&self, b: &[u8]) -> Vec<u8> {
        let (mut k, mut out) = (self.k, Vec::new());
        for w in b.windows(4) {
            k = k.wrapping_mul(2654435761) ^ (w[0] as u32) << (w[3] & 7);
            if k & 7 != 0 { out.push(k as u8); }
        }
        out
    }
}
fn repeat(mut work: impl FnMut()) { let end = unsafe { nat_now() } + 430_000_000; while unsafe { nat_now() } < end { work(); } }
#[inline(never)]
fn archive(c: &[Box<dyn Codec>], b: &[u8]) -> usize { c.iter().map(|x| x.encode(b).len()).sum() }
fn on_dyn() {
    let c: Vec<Box<dyn Codec>> = vec![Box::new(Plain), Box::new(Gzipish { k: 7 })];
    let b = vec![9u8; 20000];
    repeat(|| { black_box(archive(&c, &b)); });
}
fn price(v: f64) -> f64 { (1..400).fold(v, |a, k| (a * 1.01 + k as f64).sqrt()) }
#[inline(never)]
fn apply_rules(r: &[Box<dyn Fn(f64) -> f64>], n: usize) -> f64 { (0..n).map(|i| r.iter().map(|f| f(i as f64)).sum::<f64>()).sum() }
fn on_boxed() {
    let r: Vec<Box<dyn Fn(f64) -> f64>> = vec![Box::new(|x| x + 1.), Box::new(price)];
    repeat(|| { black_box(apply_rules(&r, 200)); });
}
extern "C" fn by_weight(a: *const u32, b: *const u32) -> i32 {
    let (mut x, mut y) = unsafe { (*a, *b) };
    for _ in 0..60 { (x, y) = (x.wrapping_mul(69069).rotate_left(3), y.wrapping_mul(69069).rotate_left(3)); }
    (x > y) as i32 - (x < y) as i32
}
fn sort_foreign(n: u32) -> u32 { let mut v: Vec<u32> = (0..n).collect(); unsafe { qsort(v.as_mut_ptr(), v.len(), 4, by_weight) }; v[1] }
fn on_qsort() { repeat(|| { black_box(sort_foreign(2000)); }); }
struct Stock { m: Mutex<HashMap<u32, i32>> }
impl Stock { #[inline(never)] fn take(&self, k: u32) { *self.m.lock().unwrap().entry(k).or_insert(0) -= 1; } }
fn on_mutex() {
    let stock = Arc::new(Stock { m: Mutex::new(HashMap::new()) });
    let other = stock.clone();
    let thread = std::thread::spawn(move || { let _held = other.m.lock().unwrap(); std::thread::sleep(Duration::from_millis(450)); });
    std::thread::sleep(Duration::from_millis(4));
    stock.take(3);
    thread.join().unwrap();
}
#[inline(never)]
fn wait_report(r: &mpsc::Receiver<u32>) -> u32 { r.recv().unwrap_or(0) }
fn on_chan() {
    let (s, r) = mpsc::channel();
    std::thread::spawn(move || { std::thread::sleep(Duration::from_millis(450)); s.send(3) });
    black_box(wait_report(&r));
}
#[inline(never)]
fn dispatch(name: &str) {
    let f: fn() = match name { "dynt" => on_dyn, "boxed" => on_boxed, "qsort" => on_qsort, "mutex" => on_mutex, "chan" => on_chan, _ => return };
    let (start, cpu) = unsafe { (nat_now(), nat_cpu()) };
    f();
    unsafe { nat_done(format!("{name}\0").as_ptr(), start, cpu) };
}
fn main() {
    let port = std::env::args().nth(1).unwrap().parse().unwrap();
    loop {
        let mut line = [0u8; 100];
        unsafe { nat_next(port, line.as_mut_ptr(), 100) };
        dispatch(std::str::from_utf8(&line).unwrap_or("").split('\0').next().unwrap());
    }
}
