/// The role of a frame in its stack, by its simplified name: not every frame can be to blame.
package enum FrameRole: Sendable {
    /// A function that a person wrote.
    case code
    /// Code without a symbol: a stub of the linker (`.plt`), stripped code, code generated at run time. Or code with the symbol
    /// of another function, if the compiler or the linker merged functions with the same machine code.
    case unnamed
    /// The first function of a thread or of the program: everything the thread does is below it.
    case entry
    /// What runs callbacks of other code: run loops, queues, executors, the start of threads.
    case machinery
    /// Compiler-generated code that forwards a call or copies a value.
    case thunk

    private static let entryNames: Set<String> = ["main", "async_Main", "_Dmain"]
    /// `static App.Program.main()`, `override func main()` of a thread, and what `@main` generates.
    private static let entrySuffixes = [".main", ".$main"]
    /// The code of a file of Python, outside of functions.
    private static let modulePrefix = "<module> ("

    private static let machineryPrefixes = PrefixSet([
        "LagRunLoop.", "LagMonitor.", "LagActivity.", "LagDetection.", "LagRemote.",
        "__CFRunLoop", "__CFRUNLOOP_IS_", "CFRunLoopRun", "CoreFoundation.CFRunLoop", "Foundation.RunLoop.",
        "_dispatch_main_queue_", "_dispatch_client_callout", "_dispatch_call_block_and_release", "_dispatch_continuation_",
        "_dispatch_lane_", "_dispatch_queue_", "_dispatch_root_queue_", "_dispatch_worker_thread", "_dispatch_source_invoke",
        "_dispatch_event_loop_", "_dispatch_mgr_", "dispatch_main",
        "swift_job_run", "swift_task_", "swift::runJobInEstablishedExecutorContext", "swift::ProcessOutOfLineJob",
        "NIOPosix.SelectableEventLoop.", "g_main_", "uv_run", "uv__run_", "event_base_loop",
    ])
    /// The same for C; a program's own functions may have these names.
    private static let plainMachineryPrefixes = PrefixSet(["clb_", "cll_", "clu_", "__libc_start_"])
    private static let machineryNames: Set<String> = [
        "_start", "start_thread", "clone", "clone3", "__clone", "__clone3", "thread_start", "__thread_start",
    ]

    private static let thunkPrefixes = PrefixSet([
        "reabstraction thunk", "outlined ", "key path getter for ", "key path setter for ", "key path index ",
        "type metadata ", "generic type metadata ", "objectdestroy", "block_copy_helper", "block_destroy_helper", "__swift_",
    ])
    /// Words of the demangler between the kind of generated code and the type for which it was generated.
    private static let thunkPhrases = [
        " value witness for ", " accessor for ", " lookup function for ", " instantiation function for ",
        " completion function for ",
    ]

    /// - Parameters:
    ///   - symbol: the simplified name; a frame without one is ``unnamed``.
    ///   - hasOwnSource: it is the program's own, and its source file is known.
    ///   - isOfLanguage: it is a frame of a language with a runtime: the words of compilers and of C libraries are ordinary names
    ///     there.
    package init(symbol: String?, hasOwnSource: Bool = false, isOfLanguage: Bool = false) {
        guard let symbol, !symbol.isEmpty else {
            self = .unnamed
            return
        }
        guard !isOfLanguage else {
            self = Self.isModule(symbol) || Self.entrySuffixes.contains(where: symbol.hasSuffix) ? .entry : .code
            return
        }
        let owner = InAppRules.owner(symbol)
        if Self.isThunk(symbol) || symbol == Self.scopeless {
            self = .thunk
        } else if symbol.hasPrefix(Self.mergedPrefix) {
            self = .unnamed
        } else if Self.machineryPrefixes.holdsPrefix(of: owner) {
            self = .machinery
        } else if !hasOwnSource, Self.machineryNames.contains(symbol) || Self.plainMachineryPrefixes.holdsPrefix(of: owner) {
            self = .machinery
        } else if owner == symbol, Self.entryNames.contains(symbol) || Self.entrySuffixes.contains(where: symbol.hasSuffix) {
            // Not a closure in it.
            self = .entry
        } else {
            self = .code
        }
    }

    /// The only name in gcc's debug information of a lambda that was inlined where it was written: the function around it is more
    /// informative.
    private static let scopeless = "operator()"

    /// For a function that was merged with others of the same machine code: its name is that of one of them.
    static let mergedPrefix = "merged "

    /// Whether it is the code of a Python file, outside functions: the program's entry, or a file that one of its functions
    /// imports.
    static func isModule(_ symbol: String?) -> Bool { symbol?.hasPrefix(modulePrefix) == true }

    /// Whether the compiler generated the code.
    package static func isThunk(_ symbol: String) -> Bool {
        var symbol = symbol[...]
        while symbol.hasPrefix(mergedPrefix) { symbol = symbol.dropFirst(mergedPrefix.count) }
        if thunkPrefixes.holdsPrefix(of: symbol) { return true }
        // Cheaper than searching every name for the phrases.
        guard symbol.utf8.contains(UInt8(ascii: " ")) else { return false }
        return thunkPhrases.contains { symbol.contains($0) }
    }
}
