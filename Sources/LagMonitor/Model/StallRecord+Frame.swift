extension StallRecord {
    /// One frame of a stack.
    public struct Frame: Sendable, Equatable {
        /// `pc`: the address in the process, a hex string in the line.
        public var pc: UInt64
        /// `module`: the path of the file the address lies in.
        public var module: String?
        /// `build_id`: hex.
        public var buildID: String?
        /// `offset`: the ELF virtual address, independent of where the module was loaded; hex in the line.
        public var offset: UInt64?
        /// `symbol`: for export the simplified name, without `->`.
        public var symbol: String?
        /// `function`: the full name, where it says more than the symbol. The line carries it while there is room.
        public var function: String?
        /// `symbol_offset`: bytes from the symbol's start, a number in the line.
        public var symbolOffset: UInt64?
        /// `file`: the source file, where lines are looked up.
        public var file: String?
        /// `line`: the line in it.
        public var line: Int?
        /// `language`: whose runtime knows the frame, such as `python`; nil: native code.
        public var language: String?
        /// `inlined`: the frame has no return address of its own.
        public var inlined: Bool?
        /// `async`: a suspended caller, which is on no stack: it waits for the function before it.
        public var isAsync: Bool?
        /// `in_app`: the program's own code, not a system library's.
        public var inApp: Bool?
        /// `skipped`: so many frames between the one before and this one are left out.
        public var skipped: Int?
        /// ``offset`` of the function's first byte, where there is no ``symbol`` that says as much. In no line.
        package var functionOffset: UInt64?
        /// What distinguishes functions of this symbol, for grouping: which lambda of its function, which instance of a
        /// template. In no line.
        package var variant: String?
        /// Code of the C library, the loader or a language's runtime. In no line.
        package var isRuntime = false
        /// Whether it is a library's template that calls a lambda of the program's, into which the compiler has put that. In no line.
        package var holdsOwnClosure = false
        /// Whether the compiler made it to pass a call on to the function that it is named after. In no line.
        package var isForwarder = false
        /// Whether it may be a library's that was linked into the same file. In no line.
        package var isDoubtful = false

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
            skipped: Int? = nil
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
        }
    }
}
