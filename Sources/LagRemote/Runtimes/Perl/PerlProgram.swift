/// What is the same for every stack of one Perl.
struct PerlProgram: Sendable {
    let layout: PerlLayout
    /// The first one, which runs in the main thread.
    let interpreter: UInt64
    /// What runs the operations that statements are: `pp_nextstate`, and with the debugger `pp_dbstate`.
    let statementFunctions: [UInt64]
}
