internal import Foundation
internal import Glibc
internal import LagCapture
internal import Testing

@testable internal import LagRemote

@Suite struct LibrarySearchTests {
    @Test func `a loaded library is found by its file name`() throws {
        let folder = NSTemporaryDirectory() + "glib-test-\(UUID().uuidString)"
        try FileManager.default.createDirectory(atPath: folder, withIntermediateDirectories: false)
        defer { try? FileManager.default.removeItem(atPath: folder) }
        let path = folder + "/libglib-2.0.so.0.7400.6"
        let modules = try #require(ModuleMap(process: getpid()))
        modules.refresh()
        let image = ProcessImage(modules, RemoteMemory(process: getpid()))
        let library = try #require(image.modules.first { $0.name.hasPrefix("libc.so") })
        try FileManager.default.copyItem(atPath: library.info.path, toPath: path)
        var before = LibrarySearch(process: getpid())
        let wasLoaded = before.has(.glib)
        #expect(!wasLoaded)
        let descriptor = open(path, O_RDONLY | O_CLOEXEC)
        let mapped = mmap(nil, 4096, PROT_READ | PROT_EXEC, MAP_PRIVATE, descriptor, 0)
        close(descriptor)
        defer { munmap(mapped, 4096) }
        var after = LibrarySearch(process: getpid())
        let isLoaded = after.has(.glib)
        let isFoundAgain = (0...64).contains { _ in before.has(.glib) }
        #expect(isLoaded && isFoundAgain)
    }
}
