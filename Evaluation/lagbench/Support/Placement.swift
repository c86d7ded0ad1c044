internal import Glibc

/// The processors on which a thread may run. A round trip between two threads takes 3 µs or 20 µs, depending on where the
/// scheduler places them, so a comparison must place both pairs in the same way.
struct Placement {
    private let set: cpu_set_t

    /// The processors on which the calling thread may run now.
    static func current() throws -> Placement {
        let getAffinity = try GlibcFunction.find("sched_getaffinity", as: GlibcFunction.Affinity.self)
        var set = cpu_set_t()
        guard getAffinity(0, MemoryLayout<cpu_set_t>.size, &set) == 0 else {
            throw BenchmarkFailure("cannot read where this thread may run: \(String(cString: strerror(errno)))")
        }
        return Placement(set: set)
    }

    /// Each processor of this placement by itself.
    var single: [Placement] {
        withUnsafeBytes(of: set) { bytes in
            (0..<bytes.count * 8).filter { bytes[$0 / 8] >> ($0 % 8) & 1 == 1 }.map { number in
                var one = cpu_set_t()
                withUnsafeMutableBytes(of: &one) { $0[number / 8] = 1 << (number % 8) }
                return Placement(set: one)
            }
        }
    }

    /// Moves a thread of this process to these processors; 0 is the calling thread.
    func apply(to tid: Int32 = 0) throws {
        let setAffinity = try GlibcFunction.find("sched_setaffinity", as: GlibcFunction.Affinity.self)
        var set = set
        guard setAffinity(tid, MemoryLayout<cpu_set_t>.size, &set) == 0 else {
            throw BenchmarkFailure("cannot place thread \(tid): \(String(cString: strerror(errno)))")
        }
    }
}
