import Glibc
import LagDiagnosis
import Testing

/// Whose code a function is, by the paths of its program, its module and its source file.
struct FileLocationTests {
    private static let shop = InAppRules(program: ProgramFiles(executable: "/opt/shop/shop"))

    /// Any program may have such a name: one with a source file, outside the folders of interpreters, is the user's.
    @Test(
        arguments: [
            ("/srv/chain/node", "src/ledger.c", true), ("/srv/chain/node", nil, false), ("/opt/R", "model/fit.cc", true),
            ("/usr/bin/node", "../src/node.cc", false), ("/usr/local/bin/perl", "pp_hot.c", false),
            ("/bin/tclsh8.6", "tclBasic.c", false),
            ("/root/.nvm/versions/node/v20/bin/node", "src/node.cc", false), ("/srv/shop/noded", nil, true),
        ] as [(String, String?, Bool)]
    )
    func `an interpreter is recognised by its name and its place`(executable: String, file: String?, isInApp: Bool) {
        let rules = InAppRules(program: ProgramFiles(executable: executable))
        #expect(rules.isInApp(modulePath: executable, symbol: "compute", file: file) == isInApp)
    }

    @Test(arguments: [
        ("/usr/bin/shop", "/usr/lib/x86_64-linux-gnu/libsqlite3.so.0.8.6"),
        ("/usr/bin/shop", "/lib/x86_64-linux-gnu/libz.so.1.2.13"),
        ("/opt/shop/bin/shop", "/opt/swift/usr/lib/swift/linux/libmine.so"),
        ("/opt/shop/bin/shop", "/var/lib/docker/overlay2/0f/merged/usr/lib/libpq.so.5"),
        ("/opt/shop/bin/shop", "/proc/71/root/lib/aarch64-linux-gnu/libcrypt.so.1"),
        ("/usr/bin/python3.11", "/home/a/venv/lib/python3.11/site-packages/numpy/core/_multiarray.so"),
        ("/usr/bin/node", "/srv/shop/node_modules/canvas/build/canvas.node"),
        ("/usr/lib/postgresql/15/bin/postgres", "/usr/lib/postgresql/15/lib/libpqwalreceiver.so"),
        ("/usr/lib/jvm/bin/java", "/usr/lib/jvm/lib/server/libjvm.so"),
        ("/nix/store/h1-shop-1/bin/shop", "/nix/store/h2-glibc-2.39/lib/libm.so"),
        ("/lib64/ld-linux-x86-64.so.2", "/lib64/ld-linux-x86-64.so.2"),
        ("/opt/shop/shop", "ery/long/merged/usr/lib/x86_64-linux-gnu/libz.so.1"),
        // Folders below the program's folder may be shared ones too.
        ("/opt/shop/bin/shop", "/opt/shop/usr/lib/libssl.so.3"), ("/snap/shop/12/bin/shop", "/snap/shop/12/lib/libssl.so.3"),
        ("/opt/bitnami/redis/bin/redis-server", "/opt/bitnami/common/lib/libssl.so.3"),
        ("/srv/app/worker", "/root/miniconda3/lib/libcrypto.so.3"), ("/srv/app/worker", "/data/envs/x/lib/libssl.so"),
        ("/opt/java/openjdk/bin/java", "/opt/java/openjdk/lib/server/libjvm.so"),
        ("/root/.pyenv/versions/3.11.7/bin/python3.11", "/root/.pyenv/versions/3.11.7/lib/libpython3.11.so.1.0"),
        ("/srv/app/worker", "/srv/app/libpython3.12.so.1.0"), ("/root/app", "/root/.dotnet/shared/x/libcoreclr.so"),
        ("/usr/bin/perl", "/usr/lib/x86_64-linux-gnu/perl/5.36/auto/Socket/Socket.so"),
        ("/usr/bin/php8.2", "/usr/lib/php/20220829/opcache.so"),
    ])
    func `libraries of the system and of package managers are not own code`(executable: String, path: String) {
        let rules = InAppRules(program: ProgramFiles(executable: executable))
        #expect(!rules.isInApp(modulePath: path, symbol: "deflate"))
        #expect(!rules.isInApp(modulePath: path, symbol: nil))
    }

    @Test(arguments: [
        ("/usr/bin/redis-server", "/usr/bin/redis-server"),
        ("/usr/lib/postgresql/15/bin/postgres", "/usr/lib/postgresql/15/bin/postgres"),
        ("/opt/shop/shop", "/opt/shop/libcart.so"), ("/opt/shop/bin/shop", "/opt/shop/lib/libcart.so"),
        ("/usr/lib/shop/shop", "/usr/lib/shop/libcart.so"), ("/usr/bin/shop", "/usr/lib/x86_64-linux-gnu/shop/libcart.so"),
        ("/src/.build/x86_64-unknown-linux-gnu/debug/shop", "/src/.build/x86_64-unknown-linux-gnu/debug/libCart.so"),
        ("/nix/store/h1-shop-1/bin/shop", "/nix/store/h1-shop-1/lib/libcart.so"), ("/srv/shop (deleted)", "/srv/shop (deleted)"),
        ("/usr/bin/libtool", "/usr/bin/libtool"),
    ])
    func `the executable and libraries in other folders are own code`(executable: String, path: String) {
        #expect(InAppRules(program: ProgramFiles(executable: executable)).isInApp(modulePath: path, symbol: "work"))
    }

    @Test func `a toolchain library next to the executable is not own code`() {
        #expect(!Self.shop.isInApp(modulePath: "/opt/shop/libswiftCore.so", symbol: "f"))
        #expect(!Self.shop.isInApp(modulePath: "/opt/shop/liblagmonitor-preload.so", symbol: "epoll_wait"))
    }

    @Test func `modules that the debug information shows as checked out are dependencies`() {
        let modules = SourceModules(dependencies: ["Fancy", "Logging"], own: ["Jobs", "Foundation"])
        let rules = InAppRules(program: ProgramFiles(executable: "/opt/shop/shop", modules: modules))
        #expect(!rules.isInApp(modulePath: "/opt/shop/shop", symbol: "closure in Fancy.Parser.parse"))
        #expect(rules.isInApp(modulePath: "/opt/shop/shop", symbol: "FancyShop.parse"))
        #expect(rules.isInApp(modulePath: "/opt/shop/shop", symbol: "parse"))
        // A module of the program with the name of a well-known package.
        #expect(rules.isInApp(modulePath: "/opt/shop/shop", symbol: "closure in Jobs.Queue.run"))
        #expect(!rules.isInApp(modulePath: "/opt/shop/shop", symbol: "Logging.Logger.log"))
        #expect(!rules.isInApp(modulePath: "/opt/shop/shop", symbol: "Foundation.Data.init"))
        #expect(!Self.shop.isInApp(modulePath: "/opt/shop/shop", symbol: "Jobs.f"))
    }

    @Test(arguments: ["FluentShop.Order.save", "GRPCGateway.serve", "OTelShop.flush", "alloc_buffer"])
    func `a name that only begins like the name of a package is own code`(symbol: String) {
        #expect(Self.shop.isInApp(modulePath: "/opt/shop/shop", symbol: symbol))
    }

    @Test(arguments: [
        "/rustc/90c5/library/core/src/slice/sort.rs", "/root/.cargo/registry/src/x/ring-0.17/src/lib.rs",
        "/rust/deps/hashbrown-0.16.1/src/map.rs", "/usr/lib/nim/lib/pure/algorithm.nim",
        "/usr/share/cargo/registry/regex-1.7.1/src/exec.rs",
    ])
    func `a library compiled into the program is recognised by its source file`(file: String) {
        #expect(!Self.shop.isInApp(modulePath: "/opt/shop/shop", symbol: "sort", file: file))
    }

    @Test(arguments: ["/src/rust/deps/sort.rs", "/home/me/rustc/sort.rs"])
    func `a folder of the program may be named like a folder of Rust`(file: String) {
        #expect(Self.shop.isInApp(modulePath: "/opt/shop/shop", symbol: "sort", file: file))
    }

    /// This suite's own program is linked with a package that SwiftPM checked out.
    @Test func `the line tables of a program name its dependencies`() throws {
        let program = ProgramFiles.read(of: getpid(), after: nil)
        #expect(program.modules.dependencies.contains("ArgumentParser"), "\(program)")
        #expect(!program.modules.dependencies.contains("LagDiagnosis"), "\(program)")
        #expect(!program.modules.dependencies.contains("Sources") && !program.modules.own.contains("ArgumentParser"))
        #expect(program.modules.own.contains("LagReader"), "\(program)")
        #expect(ProgramFiles.read(of: getpid(), after: program) == program)
    }

    @Test(arguments: [
        ("/src/shop/.build/checkouts/swift-crypto/Sources/CCryptoBoringSSL/crypto/ec.cc", false),
        ("/src/shop/.build-release/checkouts/libpng/png.c", false),
        ("/home/me/DerivedData/shop/SourcePackages/checkouts/libpng/png.c", false), ("/src/shop/Sources/Shop/png.c", true),
        ("/src/checkouts/shop/.build/checkouts/libpng/png.c", false), ("/src/checkouts/shop/png.c", true), ("png.c", true),
        ("", true), ("/usr/include/c++/12/bits/std_mutex.h", false),
        (
            "/usr/bin/../lib/gcc/x86_64-linux-gnu/12/../../../../include/x86_64-linux-gnu/c++/12/bits/gthr-default.h",
            false
        ), ("/usr/src/rustc-1.63.0/library/std/src/sys/unix/net.rs", false), ("../shop/cart.cpp", true),
        ("/usr/lib/gcc/x86_64-linux-gnu/12/include/emmintrin.h", false), ("/src/shop/include/png.h", true),
    ]) func `code inlined from elsewhere is recognised by its source file`(file: String, isInApp: Bool) {
        #expect(InAppRules().isInApp(modulePath: "/opt/shop/shop", symbol: "inflate_row", file: file) == isInApp)
    }

    /// A library of the toolchain that was linked in has no source file on the machine.
    @Test(arguments: [
        ("dispatch_orders", "/src/shop/Sources/CShop/orders.c", true), ("dispatch_orders", nil, true),
        ("dispatch_orders", "", true), ("dispatch_sync", nil, false), ("swift_shop.checkout", nil, true),
        ("swift_retain", nil, false),
        ("core::update_world", nil, true), ("core::slice::sort::quicksort", nil, false), ("clr_buffers", nil, true),
        ("<alloc::vec::Vec<T> as core::ops::Drop>::drop", nil, false), ("<shop::Cart as core::fmt::Display>::fmt", nil, true),
        ("<&mut I as core::iter::Iterator>::next", nil, false),
        ("swift_transfer", "bank.c", true), ("swift_release", "/home/build/swift/stdlib/public/runtime/HeapObject.cpp", false),
        ("_dispatch_client_callout", "/home/build/swift-corelibs-libdispatch/src/init.c", false),
        ("std::sort", "/opt/gcc-14/include/c++/14.1.0/bits/stl_algo.h", false), ("std::sort", nil, false),
        ("core::Engine::step", "/src/game/core/engine.cc", true),
        ("core::fmt::write", "/rustc/90b35a6/library/core/src/fmt/mod.rs", false),
        ("cll_find", "/src/lagmonitor/Sources/CLagLinux/memory.c", false),
    ]) func `a function with the name of a library function is own code if it has a source file`(
        symbol: String,
        file: String?,
        isInApp: Bool
    ) {
        #expect(InAppRules().isInApp(modulePath: "/opt/shop/shop", symbol: symbol, file: file) == isInApp)
    }
}
