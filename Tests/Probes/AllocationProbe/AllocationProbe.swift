internal import CLagLinux
import CountingMalloc
import Glibc
import LagCapture
import LagDiagnosis
import LagMonitor

/// The watchdog allocates no memory once it runs, whatever it sees: the stalled thread may hold malloc's lock.
///
/// A program with its own malloc, which counts the watchdog's calls. Exit 0 and `fine`, or 1 and where each call came from.
@main struct AllocationProbe {
    static func main() throws {
        try checkThatCallsAreCounted()
        let started = try Stalls.Scene()
        counting_watch(try thread(named: "lag-watchdog"))
        try Stalls.run(started)
        let count = counting_count()
        counting_watch(0)
        if count > 0 {
            report(count)
            exit(1)
        }
        print("fine")
    }

    static func fail(_ message: String) -> Never {
        print(message)
        fflush(nil)
        exit(1)
    }

    /// Without this check, a malloc that is never called would prove anything.
    private static func checkThatCallsAreCounted() throws {
        final class Something { var number = 0 }
        counting_watch(cll_gettid())
        let before = counting_count()
        let something = Something()
        withExtendedLifetime(something) { something.number += 1 }
        let afterObject = counting_count()
        free(strdup("x"))
        let afterString = counting_count()
        counting_watch(0)
        guard before == 0, afterObject > 0, afterString >= afterObject + 2 else {
            fail("malloc is not ours: \(before), \(afterObject), \(afterString)")
        }
    }

    private static func thread(named name: String) throws -> Int32 {
        guard let directory = opendir("/proc/self/task") else { fail("cannot list the threads") }
        defer { closedir(directory) }
        while let entry = readdir(directory) {
            let tid = withUnsafePointer(to: &entry.pointee.d_name) {
                Int32(String(cString: UnsafeRawPointer($0).assumingMemoryBound(to: CChar.self)))
            }
            var found = cll_name()
            cll_procfs_name(getpid(), tid ?? 0, &found)
            let text = withUnsafeBytes(of: found.text) { String(decoding: $0.prefix { $0 != 0 }, as: UTF8.self) }
            if let tid, text == name { return tid }
        }
        fail("there is no thread \(name)")
    }

    private static func report(_ count: UInt64) {
        print("\(count) calls of the watchdog's")
        guard let modules = ModuleMap() else { return }
        modules.refresh()
        var symbolizer = Symbolizer()
        var reported: Set<[UInt64]> = []
        for index in 0..<Int32(min(count, UInt64(COUNTED_CALLS_MAX))) {
            let call = counting_call(index)!.pointee
            let returns = withUnsafeBytes(of: call.returns) {
                Array($0.bindMemory(to: UInt64.self).prefix(Int(call.frames)))
            }
            guard reported.insert(returns).inserted else { continue }
            print("\(String(cString: call.function)) \(call.bytes)")
            // The first two belong to the counter.
            for address in returns.dropFirst(2) {
                guard let module = modules.index(of: address).flatMap({ modules.module(at: $0) }) else {
                    print("    0x\(String(address, radix: 16))")
                    continue
                }
                let query = SymbolQuery(
                    modulePath: module.path,
                    buildID: module.buildID,
                    offset: address &- module.bias,
                    isReturnAddress: true
                )
                print(
                    "    \(symbolizer.resolve([query])[0]?.simplified ?? "?") (\(module.baseName)+0x\(String(address &- module.bias, radix: 16)))"
                )
            }
        }
    }
}
