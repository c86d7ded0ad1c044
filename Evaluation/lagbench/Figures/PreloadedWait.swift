internal import CLagBeacon
internal import CLagRemote
internal import Glibc

/// The cost that the preloaded library adds to a wait: its `poll` compared with the C library's, without descriptors and with
/// timeout 0, as the wait of an established loop.
///
/// Batches of both alternate on one thread. The result is the median of the differences of the pairs. The library is loaded into
/// this process beside the C library, with a separate page. Both are called by the same code, from the same place.
struct PreloadedWait: Benchmark {
    let name = "preloaded_wait"
    let unit = "ns"
    let targets = [Target(.value, .atMost(20))]

    private typealias Wait = @convention(c) (UnsafeMutablePointer<pollfd>?, UInt, Int32) -> Int32

    private static let pairs = 400
    private static let waitsPerBatch = 5_000
    /// More waits than the library needs to recognise a loop.
    private static let firstWaits = 20
    private static let library = "liblagmonitor-preload.so"

    func run() throws -> [BenchLine] {
        var page: UnsafeMutablePointer<clb_loop_table>?
        var descriptor: Int32 = -1
        // No process reads this table, so the parent's start time is not needed.
        guard clr_loop_table_create(0, &page, &descriptor) == 0, let page else { throw BenchmarkFailure("no shared loop table") }
        let wrapped = try load(descriptor)
        guard let real = dlsym(nil, "poll") else { throw BenchmarkFailure("no poll") }
        let bare = unsafeBitCast(real, to: Wait.self)
        _ = batch(wrapped, waits: Self.firstWaits, timeout: 1)
        var loop = clr_loop_table_entry()
        guard clr_loop_table_read(page, 0, &loop) != 0 else { throw BenchmarkFailure("the waits were not taken for a loop") }
        let before = clb_beacon_word(clb_loop_table_beacon(page, 0)) >> 8
        let pairs = (0..<Self.pairs).map { pair in
            // The first one has colder caches, so the order alternates.
            if pair.isMultiple(of: 2) {
                let first = batch(bare, waits: Self.waitsPerBatch, timeout: 0)
                return (bare: first, wrapped: batch(wrapped, waits: Self.waitsPerBatch, timeout: 0))
            }
            let first = batch(wrapped, waits: Self.waitsPerBatch, timeout: 0)
            return (bare: batch(bare, waits: Self.waitsPerBatch, timeout: 0), wrapped: first)
        }
        let rests = (clb_beacon_word(clb_loop_table_beacon(page, 0)) >> 8) - before
        guard rests == UInt64(2 * Self.pairs * Self.waitsPerBatch) else { throw BenchmarkFailure("not every wait was a rest") }
        let bareWait = Samples(pairs.map(\.bare)).median
        let wrappedWait = Samples(pairs.map(\.wrapped)).median
        return [
            BenchLine(name, Samples(pairs.map { $0.wrapped - $0.bare }).median, unit)
                .annotating("bare", BenchLine.format(bareWait)).annotating("wrapped", BenchLine.format(wrappedWait))
                .annotating("clock", page.pointee.clock_scale == 0 ? "clock_gettime" : "counter")
        ]
    }

    /// The page is never unmapped, because the library stays loaded.
    private func load(_ descriptor: Int32) throws -> Wait {
        setenv("LAGMONITOR_LOOP_TABLE", "/proc/\(getpid())/fd/\(descriptor)", 1)
        defer { unsetenv("LAGMONITOR_LOOP_TABLE") }
        var buffer = [UInt8](repeating: 0, count: Int(PATH_MAX))
        let length = max(0, readlink("/proc/self/exe", &buffer, buffer.count))
        let folder = String(decoding: buffer[..<length], as: UTF8.self).split(separator: "/").dropLast().joined(separator: "/")
        guard let handle = dlopen("/\(folder)/\(Self.library)", RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE),
            let wait = dlsym(handle, "poll")
        else {
            throw BenchmarkFailure("\(Self.library) cannot be loaded; build this product, too")
        }
        return unsafeBitCast(wait, to: Wait.self)
    }

    /// Nanoseconds per wait. Both are called from this one place, as a loop has one wait.
    @inline(never)
    private func batch(_ wait: Wait, waits: Int, timeout: Int32) -> Double {
        let begin = clb_now_ns()
        for _ in 0..<waits { _ = wait(nil, 0, timeout) }
        return Double(clb_now_ns() - begin) / Double(waits)
    }
}
