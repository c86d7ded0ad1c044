/// The layout of Perl's calls, by version. It exports the version (`PL_version`), but no table of its structures: the data of a
/// call is only used if it is consistent (``PerlFunction``).
///
/// Source: `intrpvar.h`, `cop.h`, `op.h`, `cv.h`, `gv.h`, `hv.h` and `sv.h` of the version, by `offsetof` with the headers of Debian's 5.36 on x86-64; builds with
/// threads (`usethreads`), as distributions have them, in which all of an interpreter's state is in one structure.
struct PerlLayout: Sendable {
    /// The minor one: `PL_version`.
    let version: UInt8
    /// `struct interpreter`: the running operation, the statement, the innermost stack of calls, the code outside functions, and
    /// the place in the code that is being compiled.
    let currentOperation, currentStatement, currentStack, mainCode, compiling: UInt64
    /// `PERL_SI`: its calls, the one outside of it, the index of the innermost call, and how many there is room for.
    let stackCalls, stackPrevious, stackIndex, stackCapacity: UInt64
    /// `PERL_CONTEXT`: its kind, the caller's statement, where it returns to, and the code that is called; that of `eval` and `require` lies elsewhere.
    let callKind, callStatement, callReturn, callCode, callEvaluated: UInt64
    let callBytes: UInt64
    /// `OP`: what runs next; the next one beside it, or its parent if it is the last; what it was before it was left out, and its kind; flags, and the first one below it.
    let operationNext, operationSibling, operationWas, operationKind, operationFlags, operationFirst: UInt64
    let operationBytes: Int
    /// `OP_NEXTSTATE` and `OP_SCOPE` (`opnames.h`).
    let statementKind, scopeKind: UInt64
    /// `COP`, a statement: what runs it, its line, and its file.
    let statementFunction, statementLine, statementFile: UInt64
    let statementBytes: Int
    /// `SV`: its body, and its kind with flags.
    let valueBody, valueFlags: UInt64
    /// `XPVCV`: the package, the code, what names it, and flags.
    let codePackage, codeRoot, codeName, codeFlags: UInt64
    let codeBytes: Int
    /// `XPVGV`: the name, and the package.
    let globName, globPackage: UInt64
    /// The body of a package's hash: its name, or a list of them; and how many that has.
    let packageName, packageNameCount: UInt64
    /// `HEK`: its length, and its bytes.
    let nameLength, nameBytes: UInt64

    static let known = [
        PerlLayout(
            version: 36,
            currentOperation: 8,
            currentStatement: 208,
            currentStack: 224,
            mainCode: 1800,
            compiling: 1936,
            stackCalls: 8,
            stackPrevious: 16,
            stackIndex: 32,
            stackCapacity: 36,
            callKind: 0,
            callStatement: 16,
            callReturn: 48,
            callCode: 72,
            callEvaluated: 88,
            callBytes: 104,
            operationNext: 0,
            operationSibling: 8,
            operationWas: 24,
            operationKind: 32,
            operationFlags: 34,
            operationFirst: 40,
            operationBytes: 48,
            statementKind: 195,
            scopeKind: 200,
            statementFunction: 16,
            statementLine: 36,
            statementFile: 48,
            statementBytes: 56,
            valueBody: 0,
            valueFlags: 12,
            codePackage: 32,
            codeRoot: 48,
            codeName: 56,
            codeFlags: 92,
            codeBytes: 96,
            globName: 32,
            globPackage: 40,
            packageName: 32,
            packageNameCount: 60,
            nameLength: 4,
            nameBytes: 8
        )
    ]
}
