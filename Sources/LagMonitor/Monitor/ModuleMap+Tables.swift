internal import LagCapture
internal import LagDiagnosis

extension ModuleMap {
    /// Creates the unwind tables that the linker left out of the modules present at the start: gcc with `-static` links without a
    /// sorted table of unwind entries, and without it a stack of the program has one frame. Called before the first capture,
    /// because it reads the modules' files.
    func makeTables() {
        let files = SymbolFiles(process: process)
        for index in withoutTables {
            guard let module = module(at: index) else { continue }
            let query = SymbolQuery(modulePath: module.path, buildID: module.buildID, offset: 0, isReturnAddress: false)
            guard let section = files.unwindEntries(of: SymbolFiles.Module(query)) else { continue }
            makeTable(of: index, from: section)
        }
    }
}
