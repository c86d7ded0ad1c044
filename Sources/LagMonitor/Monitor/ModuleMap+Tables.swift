internal import LagCapture
internal import LagDiagnosis

extension ModuleMap {
    /// Makes what the linker left out of modules that are there at the start: gcc links with `-static` without a sorted table of the unwind entries, and without it a stack
    /// of the program has one frame. Before the first capture: it reads the modules' files.
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
