//! build: swiftc -O -parse-as-library $S -o $O
//! part: kept
//! stall witness | Polyline.*length|Polyline.* | Polyline.*|totalLength.*|onWitness.* | cpu
//! stall closure | ranked.*|.*closure.*ranked.* | ranked.*|.*closure.*|onClosure.* | cpu
//! stall lock | Counter\.bump.*|Counter.* | Counter.*|onLock.* | lock
//! stall qsort | .*closure.*sortForeign.*|sortForeign.* | .*closure.*|sortForeign.*|onQsort.* | cpu
//! stall read | readAnswer.* | readAnswer.*|onRead.* | syscall
import Glibc

protocol Shape { func length() -> Double }
struct Polyline: Shape {
    let p: [Double]
    func length() -> Double {
        var sum = 0.0
        for (a, b) in zip(p, p.dropFirst()) { sum += ((b - a) * (b - a) + 1).squareRoot() }
        return sum
    }
}
struct Dot: Shape { func length() -> Double { 0 } }
nonisolated(unsafe) var sink = 0.0
func clock(_ id: clockid_t) -> UInt64 {
    var t = timespec()
    clock_gettime(id, &t)
    return UInt64(t.tv_sec) * 1_000_000_000 + UInt64(t.tv_nsec)
}
func now() -> UInt64 { clock(CLOCK_MONOTONIC) }
func again(_ work: () -> Void) {
    let end = now() + 430_000_000
    while now() < end { work() }
}
@inline(never) func totalLength(_ shapes: [any Shape]) -> Double { shapes.reduce(0) { $0 + $1.length() } }
@inline(never) func onWitness() {
    let shapes: [any Shape] = [Dot(), Polyline(p: (0..<20000).map { Double($0 * 7919 % 1009) })]
    again { sink += totalLength(shapes) }
}
func score(_ s: String) -> Int { (0..<20).reduce(0) { h, _ in s.utf8.reduce(h) { $0 &* 31 &+ Int($1) } } }
@inline(never) func ranked(_ v: [String], by f: (String) -> Int) -> [String] { v.sorted { f($0) < f($1) } }
@inline(never) func onClosure() {
    let entries = (0..<300).map { "entry number \($0)" }
    again { sink += Double(ranked(entries, by: score).count) }
}
func detach(_ body: @escaping @Sendable @convention(c) (UnsafeMutableRawPointer?) -> UnsafeMutableRawPointer?) {
    var thread = pthread_t()
    pthread_create(&thread, nil, body, nil)
    pthread_detach(thread)
    usleep(4000)
}
final class Counter: @unchecked Sendable {
    let mutex = UnsafeMutablePointer<pthread_mutex_t>.allocate(capacity: 1)
    var n = 0
    init() { pthread_mutex_init(mutex, nil) }
    @inline(never) func bump(holding ms: UInt32 = 0) {
        pthread_mutex_lock(mutex)
        n += 1
        usleep(ms * 1000)
        pthread_mutex_unlock(mutex)
    }
}
let counter = Counter()
@inline(never) func onLock() {
    detach { _ in
        counter.bump(holding: 450)
        return nil
    }
    counter.bump()
}
@inline(never) func sortForeign(_ n: Int32) -> Int32 {
    var v = (0..<n).map { $0 &* 7919 }
    qsort(&v, Int(n), 4) { a, b in
        var (x, y) = (a!.load(as: Int32.self), b!.load(as: Int32.self))
        for _ in 0..<60 { (x, y) = (x &* 69069 &+ 1, y &* 69069 &+ 1) }
        return x < y ? -1 : 1
    }
    return v[3]
}
@inline(never) func onQsort() { again { sink += Double(sortForeign(2000)) } }
nonisolated(unsafe) var ends: [Int32] = [0, 0]
@inline(never) func readAnswer(_ end: Int32) -> Int {
    var b = [UInt8](repeating: 0, count: 16)
    return read(end, &b, 16)
}
@inline(never) func onRead() {
    pipe(&ends)
    detach { _ in
        usleep(450_000)
        close(ends[1])
        return nil
    }
    sink += Double(readAnswer(ends[0]))
    close(ends[0])
}
@inline(never) func dispatch(_ name: String) {
    let ways = ["witness": onWitness, "closure": onClosure, "lock": onLock, "qsort": onQsort, "read": onRead]
    guard let way = ways[name] else { return }
    let (start, cpu) = (now(), clock(CLOCK_THREAD_CPUTIME_ID))
    way()
    let line = "T \(name) \(start) \(now()) \(clock(CLOCK_THREAD_CPUTIME_ID) - cpu)\n"
    _ = line.withCString { write(1, $0, strlen($0)) }
}
@main struct App {
    static func main() {
        let listener = socket(AF_INET, Int32(SOCK_STREAM.rawValue), 0)
        var address = sockaddr_in()
        address.sin_family = UInt16(AF_INET)
        address.sin_port = UInt16(CommandLine.arguments[1])!.bigEndian
        address.sin_addr.s_addr = UInt32(0x7f00_0001).bigEndian
        let size = socklen_t(MemoryLayout<sockaddr_in>.size)
        _ = withUnsafePointer(to: &address) { $0.withMemoryRebound(to: sockaddr.self, capacity: 1) { bind(listener, $0, size) } }
        listen(listener, 16)
        var polled = [pollfd(fd: listener, events: Int16(POLLIN), revents: 0)]
        while true {
            if poll(&polled, nfds_t(polled.count), -1) < 1 { continue }
            for index in polled.indices.reversed() where polled[index].revents != 0 {
                let fd = polled[index].fd
                if fd == listener {
                    polled.append(pollfd(fd: accept(fd, nil, nil), events: Int16(POLLIN), revents: 0))
                    continue
                }
                var line = [UInt8](repeating: 0, count: 100)
                let count = read(fd, &line, 99)
                if count <= 0 {
                    close(fd)
                    polled.remove(at: index)
                    continue
                }
                dispatch(String(decoding: line[..<count].prefix { $0 != 10 }, as: UTF8.self))
                write(fd, "ok\n", 3)
            }
        }
    }
}
