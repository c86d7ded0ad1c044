internal import CoreFoundation

/// A CFRunLoop and the modes in which it is watched.
// Sendable without a check: CFRunLoop has its own lock (its documentation permits adding, removing, waking and performing from
// any thread), and the other values do not change.
final class RunLoopTarget: @unchecked Sendable {
    let loop: CFRunLoop
    let isMain: Bool
    /// The common modes' name, and the names of the additional modes.
    let modes: [CFString]
    /// The same for `CFRunLoopPerformBlock`.
    private let modesForBlocks: CFArray

    init(_ loop: CFRunLoop, additionalModes: [String]) {
        self.loop = loop
        isMain = loop === CFRunLoopGetMain()
        var modes: [CFString] = [kCFRunLoopCommonModes]
        let known = CFRunLoopCopyAllModes(loop)
        for index in 0..<(known.map(CFArrayGetCount) ?? 0) {
            guard let mode = CFArrayGetValueAtIndex(known, index) else { continue }
            modes.append(Unmanaged<CFString>.fromOpaque(mode).takeUnretainedValue())
        }
        for mode in additionalModes {
            // Empty only if there is no memory.
            if let name = CFStringCreateWithCString(nil, mode, CFStringBuiltInEncodings.UTF8.rawValue) {
                modes.append(name)
            }
        }
        self.modes = modes
        var callbacks = kCFTypeArrayCallBacks
        let array = CFArrayCreateMutable(nil, modes.count, &callbacks)!
        for mode in modes { CFArrayAppendValue(array, Unmanaged.passUnretained(mode).toOpaque()) }
        modesForBlocks = array
    }

    /// Whether the calling thread is the loop's.
    var isCurrent: Bool { loop === CFRunLoopGetCurrent() }

    /// Runs `body` on the loop at its next turn in one of the modes, and wakes it for that. It is not a handled source.
    func perform(_ body: @escaping @Sendable () -> Void) {
        CFRunLoopPerformBlock(loop, modesForBlocks, body)
        CFRunLoopWakeUp(loop)
    }
}
