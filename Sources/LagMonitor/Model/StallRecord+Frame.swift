extension StallRecord {
    /// One frame of a stack.
    public struct Frame: Sendable, Equatable {
        /// `pc`: the address in the process, a hex string in the line.
        public var pc: UInt64
        /// `module`: the path of the file that contains the address.
        public var module: String?
        /// `build_id`: hex.
        public var buildID: String?
        /// `offset`: the ELF virtual address, independent of where the module was loaded; hex in the line.
        public var offset: UInt64?
        /// `symbol`: the simplified name, for export; without `->`.
        public var symbol: String?
        /// `function`: the full name, if it contains more than the symbol. The line has it if there is space.
        public var function: String?
        /// `symbol_offset`: bytes from the symbol's start, a number in the line.
        public var symbolOffset: UInt64?
        /// `file`: the source file, if lines are looked up.
        public var file: String?
        /// `line`: the line in it.
        public var line: Int?
        /// `language`: the language whose runtime knows the frame, such as `python`; nil: native code.
        public var language: String?
        /// `inlined`: the frame has no return address of its own.
        public var inlined: Bool?
        /// `tail_call`: the next frame's function called it, and it went on with a jump to the function before, which returns for
        /// it; it is `inlined` as well.
        public var tailCall: Bool?
        /// `async`: a suspended caller, which is not on any stack: it waits for the function before it.
        public var isAsync: Bool?
        /// `in_app`: the program's own code, not a system library's.
        public var inApp: Bool?
        /// `skipped`: how many frames are left out between the one before and this one.
        public var skipped: Int?
        /// ``offset`` of the function's first byte, if no ``symbol`` identifies it as well. Not written to lines.
        package var functionOffset: UInt64?
        /// Distinguishes functions of this symbol, for grouping: which lambda of its function, which instance of a template. Not
        /// written to lines.
        package var variant: String?
        /// Code of the C library, the loader or a language's runtime. Not written to lines.
        package var isRuntime = false
        /// Whether it is a library's template that calls a lambda of the program, and the compiler has inlined the lambda into
        /// it. Not written to lines.
        package var holdsOwnClosure = false
        /// Whether the compiler generated it to forward a call to the function after which it is named. Not written to lines.
        package var isForwarder = false
        /// Whether it may belong to a library that was linked into the same file. Not written to lines.
        package var isDoubtful = false
        /// True if the caller's instruction names it, so it is not a callback; false if a pointer called it; nil if that is not
        /// known. Not written to lines.
        package var isCalledDirectly: Bool?

        public init(
            pc: UInt64,
            module: String? = nil,
            buildID: String? = nil,
            offset: UInt64? = nil,
            symbol: String? = nil,
            function: String? = nil,
            symbolOffset: UInt64? = nil,
            file: String? = nil,
            line: Int? = nil,
            language: String? = nil,
            inlined: Bool? = nil,
            inApp: Bool? = nil,
            isAsync: Bool? = nil,
            skipped: Int? = nil,
            tailCall: Bool? = nil
        ) {
            self.pc = pc
            self.module = module
            self.buildID = buildID
            self.offset = offset
            self.symbol = symbol
            self.function = function
            self.symbolOffset = symbolOffset
            self.file = file
            self.line = line
            self.language = language
            self.inlined = inlined
            self.inApp = inApp
            self.isAsync = isAsync
            self.skipped = skipped
            self.tailCall = tailCall
        }
    }
}
