internal import LagCapture

/// Whether a process uses GLib, whose loop wakes itself.
///
/// `g_main_dispatch` takes the descriptors of the source that it dispatches out of the loop's wait, puts them back afterwards, and writes to the loop's eventfd each time
/// (`g_main_context_remove_poll_unlocked` of GLib's `gmain.c`), so that a thread that waits meanwhile looks again. Its own thread finds that ready, though no one
/// waits for it. What another thread of the program asks for by the same eventfd looks the same.
///
/// One owner's, under its lock. Where an eventfd alone is ready among what `poll` or `select` is for: some 100 µs, a millisecond in a program of hundreds of libraries; ever
/// more seldom while it is not found, for it may be loaded later.
struct GLibSearch {
    private static let name = "libglib-2.0.so"

    private let process: Int32
    private var found = false
    private var search = SeldomSearch(first: 64, most: 1 << 16)

    init(process: Int32) { self.process = process }

    var isLoaded: Bool {
        mutating get {
            guard !found, search.isDue() else { return found }
            if let modules = ModuleMap(process: process) {
                modules.refresh()
                found = ProcessImage(modules).modules.contains { $0.name.hasPrefix(Self.name) }
            }
            if !found { search.wasInVain() }
            return found
        }
    }
}
