/// Libraries of languages that their compilers link into each program: known by the names that the symbol table has for their functions.
enum CompiledLibraries {
    private static let names = PrefixSet([
        // D: druntime and Phobos.
        "_D4core", "_D3std", "_D2rt", "_D2gc", "_D6object", "_d_",
        // OCaml: its runtime and what comes with it.
        "caml_", "camlStdlib", "camlUnix", "camlCamlinternal",
        // Ada.
        "__gnat_", "ada__", "gnat__", "interfaces__", "system__",
        // Free Pascal.
        "fpc_", "FPC_", "SYSTEM_$$_", "SYSTEM$_$", "SYSUTILS_$$_", "SYSUTILS$_$", "CLASSES_$$_", "CLASSES$_$", "STRUTILS_$$_",
        "MATH_$$_",
        "DATEUTILS_$$_", "VARIANTS_$$_", "BASEUNIX_$$_", "UNIX_$$_", "LINUX_$$_", "CTHREADS_$$_",
    ])

    static func holds(_ rawName: String) -> Bool { names.holdsPrefix(of: rawName) }
}
