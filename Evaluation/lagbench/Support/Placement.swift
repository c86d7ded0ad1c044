internal import Glibc

/// Which processors a thread may run on. Two threads that answer each other take 3 µs or 20 µs by where the scheduler
/// happens to put them; a comparison has to put both pairs alike.
struct Placement {
    private let set: cpu_set_t

    /// Where the calling thread may run now.
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

    /// Moves a thread of this process there; 0 is the calling one.
    func apply(to tid: Int32 = 0) throws {
        let setAffinity = try GlibcFunction.find("sched_setaffinity", as: GlibcFunction.Affinity.self)
        var set = set
        guard setAffinity(tid, MemoryLayout<cpu_set_t>.size, &set) == 0 else {
            throw BenchmarkFailure("cannot place thread \(tid): \(String(cString: strerror(errno)))")
        }
    }
}
