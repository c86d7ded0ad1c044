internal import CoreFoundation
internal import Synchronization

/// Numbers for a loop's modes, as used in the beacon; the first is 1.
// Sendable without a check: only the loop's own thread uses `last`; the names are behind a lock.
final class ModeNumbers: @unchecked Sendable {
    /// The usual one comes first, so that it is known before the loop runs.
    private let names = Mutex<[String]>(["kCFRunLoopDefaultMode"])
    private var last: (name: CFString, number: UInt32)?

    /// The number of the mode in which `loop` runs. The loop's own thread.
    func number(ofModeOf loop: CFRunLoop) -> UInt32 {
        guard let name = CFRunLoopCopyCurrentMode(loop) else { return 0 }
        // CFRunLoop returns the same string for a mode every time.
        if let last, last.name === name { return last.number }
        let number = number(of: Self.text(name))
        last = (name, number)
        return number
    }

    /// The name of a number. Any thread.
    func name(of number: UInt32) -> String? {
        names.withLock { names in
            number > 0 && number <= names.count ? names[Int(number) - 1] : nil
        }
    }

    private func number(of name: String) -> UInt32 {
        names.withLock { names in
            if let index = names.firstIndex(of: name) { return UInt32(index) + 1 }
            names.append(name)
            return UInt32(names.count)
        }
    }

    private static func text(_ string: CFString) -> String {
        let units = CFStringGetLength(string)
        var buffer = [UniChar](repeating: 0, count: units)
        CFStringGetCharacters(string, CFRange(location: 0, length: units), &buffer)
        return String(decoding: buffer, as: UTF16.self)
    }
}
