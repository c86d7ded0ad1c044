internal import CoreFoundation

/// A CFRunLoop and the modes it is watched in.
// Sendable without a check: CFRunLoop locks itself (adding, removing, waking and performing are for any thread by its
// documentation), and the other values do not change.
final class RunLoopTarget: @unchecked Sendable {
    let loop: CFRunLoop
    let isMain: Bool
    /// The common modes' name, and the names of the further modes.
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
            // Empty only without memory.
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

    /// Runs `body` on the loop when it next comes round in one of the modes, and wakes it for that. No handled source.
    func perform(_ body: @escaping @Sendable () -> Void) {
        CFRunLoopPerformBlock(loop, modesForBlocks, body)
        CFRunLoopWakeUp(loop)
    }
}
