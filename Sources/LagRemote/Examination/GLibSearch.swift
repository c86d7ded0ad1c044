internal import LagCapture

/// Whether a process uses GLib, whose loop wakes itself.
///
/// `g_main_dispatch` takes the descriptors of the source that it dispatches out of the loop's wait, puts them back afterwards, and writes to the loop's eventfd each time
/// (`g_main_context_remove_poll_unlocked` of GLib's `gmain.c`), so that a thread that waits meanwhile looks again. Its own thread finds that ready, though nobody
/// waits for it. What another thread of the program asks for by the same eventfd cannot be told from it.
///
/// One owner's, under its lock. Some 100 µs, once, where an eventfd alone is ready; again where the program has loaded more.
struct GLibSearch {
    private static let name = "libglib-2.0.so"
    /// A library may come later.
    private static let searchAgainAfter = 64

    private let process: Int32
    private var found = false
    private var left = 0

    init(process: Int32) { self.process = process }

    var isLoaded: Bool {
        mutating get {
            guard !found, left == 0 else {
                left = max(0, left - 1)
                return found
            }
            left = Self.searchAgainAfter
            guard let modules = ModuleMap(process: process) else { return false }
            modules.refresh()
            found = ProcessImage(modules).modules.contains { $0.name.hasPrefix(Self.name) }
            return found
        }
    }
}
