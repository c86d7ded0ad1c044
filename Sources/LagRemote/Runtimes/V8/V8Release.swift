/// What a release of V8 has that its post-mortem constants (`v8dbg_…`) do not say.
///
/// Sources: `src/objects/*.tq`, `src/objects/code.h`, `src/objects/bytecode-array.h` and `src/objects/deoptimization-data.h` of the release's
/// tag; each value was compared with the memory of a process of that release. Offsets count from the object's first byte.
struct V8Release: Sendable {
    let major: UInt32
    let minor: UInt32
    /// `JSFunction.code`; nil: it is in a table elsewhere (13.6).
    let functionCode: UInt64?
    /// The source positions of a `BytecodeArray`.
    let bytecodePositions: UInt64
    let code: CodeFields
    let scope: ScopeFields
    let deoptimization: DeoptimizationFields

    /// A `Code` object.
    struct CodeFields: Sendable {
        /// Optimised code: the deoptimisation data. Baseline code: the function's `BytecodeArray`.
        let data: UInt64
        /// Optimised code: source positions. Baseline code: where each bytecode's machine code ends.
        let positions: UInt64
        let flags: UInt64
        let instructionBytes: UInt64
        /// Where the address of the instructions is; nil: they follow the object's header.
        let instructionStart: UInt64?
        /// From the object before the instructions (`InstructionStream`, before 11.1 `Code` itself) to them.
        let headerBytes: UInt64
        /// What that object is called in the constants, and where it has its `Code`; nil: it is the `Code`.
        let stream: (type: String, code: UInt64)?
    }

    /// A `ScopeInfo`.
    struct ScopeFields: Sendable {
        /// Its flags are a small integer; else a plain one of 32 bits.
        let flagsAreSmall: Bool
        /// The scope type that is a function's.
        let functionType: UInt32
        /// Index of the source position before the variable part; nil: after the names.
        let fixedPosition: Int?
    }

    /// Indices into the deoptimisation data, and the types that may be there.
    struct DeoptimizationFields: Sendable {
        let arrayType: String
        let inlinedCount: Int
        let literals: Int
        let literalsType: String
        let function: Int
        /// Whether a `SharedFunctionInfoWrapper` is around the function.
        let isWrapped: Bool
        let inliningPositions: Int
    }

    /// In Node.js 18, 20, 22 and 24. In between there were releases for some months each (19, 21, 23), which are not known.
    static let known = [
        V8Release(
            major: 10,
            minor: 2,
            functionCode: 48,
            bytecodePositions: 32,
            code: CodeFields(
                data: 16,
                positions: 24,
                flags: 48,
                instructionBytes: 40,
                instructionStart: nil,
                headerBytes: 128,
                stream: nil
            ),
            scope: ScopeFields(flagsAreSmall: true, functionType: 2, fixedPosition: nil),
            deoptimization: DeoptimizationFields(
                arrayType: "FixedArray__FIXED_ARRAY_TYPE",
                inlinedCount: 1,
                literals: 2,
                literalsType: "WeakFixedArray__WEAK_FIXED_ARRAY_TYPE",
                function: 6,
                isWrapped: false,
                inliningPositions: 7
            )
        ),
        V8Release(
            major: 11,
            minor: 3,
            functionCode: 48,
            bytecodePositions: 32,
            code: CodeFields(
                data: 16,
                positions: 24,
                flags: 48,
                instructionBytes: 56,
                instructionStart: 40,
                headerBytes: 16,
                stream: ("InstructionStream__INSTRUCTION_STREAM_TYPE", 8)
            ),
            scope: ScopeFields(flagsAreSmall: true, functionType: 2, fixedPosition: nil),
            deoptimization: DeoptimizationFields(
                arrayType: "FixedArray__FIXED_ARRAY_TYPE",
                inlinedCount: 1,
                literals: 2,
                literalsType: "WeakFixedArray__WEAK_FIXED_ARRAY_TYPE",
                function: 6,
                isWrapped: false,
                inliningPositions: 7
            )
        ),
        V8Release(
            major: 12,
            minor: 4,
            functionCode: 24,
            bytecodePositions: 24,
            code: CodeFields(
                data: 8,
                positions: 16,
                flags: 48,
                instructionBytes: 52,
                instructionStart: 40,
                headerBytes: 32,
                stream: ("InstructionStream__INSTRUCTION_STREAM_TYPE", 8)
            ),
            scope: ScopeFields(flagsAreSmall: true, functionType: 2, fixedPosition: nil),
            deoptimization: DeoptimizationFields(
                arrayType: "TrustedFixedArray__TRUSTED_FIXED_ARRAY_TYPE",
                inlinedCount: 1,
                literals: 2,
                literalsType: "WeakFixedArray__WEAK_FIXED_ARRAY_TYPE",
                function: 6,
                isWrapped: false,
                inliningPositions: 7
            )
        ),
        V8Release(
            major: 13,
            minor: 6,
            functionCode: nil,
            bytecodePositions: 24,
            code: CodeFields(
                data: 8,
                positions: 16,
                flags: 52,
                instructionBytes: 56,
                instructionStart: 40,
                headerBytes: 32,
                stream: ("InstructionStream__INSTRUCTION_STREAM_TYPE", 8)
            ),
            scope: ScopeFields(flagsAreSmall: false, functionType: 4, fixedPosition: 3),
            deoptimization: DeoptimizationFields(
                arrayType: "ProtectedFixedArray__PROTECTED_FIXED_ARRAY_TYPE",
                inlinedCount: 1,
                literals: 3,
                literalsType: "TrustedWeakFixedArray__TRUSTED_WEAK_FIXED_ARRAY_TYPE",
                function: 7,
                isWrapped: true,
                inliningPositions: 8
            )
        ),
    ]
}
