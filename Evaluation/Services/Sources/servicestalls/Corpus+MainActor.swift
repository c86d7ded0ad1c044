internal import Dispatch
internal import LagMonitor

// The main actor of a program whose main thread drains the main queue.

extension Corpus {
    static let mainActor: [Scenario] = [
        .service(
            "main-actor",
            "a task of the main actor",
            ["cpu"],
            ["ListModel.refresh"],
            callers: ["ListModel.reload"],
            request: "screen",
            suspended: ["ListModel.appear"]
        ) { @MainActor in
            let model = ListModel()
            Task { await withStallContext(name: "screen") { await model.appear(560) } }
        },
        .service(
            "main-actor-short",
            "a task without a context, slightly longer than the threshold",
            ["cpu"],
            ["ListModel.refresh"],
            callers: ["ListModel.reload"]
        ) { @MainActor in
            let model = ListModel()
            Task { await model.appear(240) }
        },
        .service(
            "main-actor-run",
            "MainActor.run, called by a task of the pool",
            ["syscall"],
            ["Presenter.show"],
            request: "POST /banner"
        ) {
            let presenter = Presenter()
            await withStallContext(name: "POST /banner") { await MainActor.run { presenter.show(430) } }
        },
        .service("assume-isolated", "a block of the main queue", ["syscall"], ["Presenter.show"]) {
            let presenter = Presenter()
            DispatchQueue.main.async { MainActor.assumeIsolated { presenter.show(470) } }
        },
        .service("main-queue-block", "a block of the main queue that computes", ["cpu"], ["Stall.compute"]) {
            DispatchQueue.main.async { keep(Stall.compute(for: 430)) }
        },
        .service("twenty-main", "one of twenty tasks of the main actor", ["syscall"], ["Presenter.show"], request: "GET /view/3")
        { @MainActor in
            let presenter = Presenter()
            for view in 0..<20 {
                Task { @MainActor in
                    await withStallContext(name: "GET /view/\(view)") {
                        try? await Task.sleep(for: .milliseconds(20 + view * 7))
                        if view == 3 { presenter.show(620) }
                        try? await Task.sleep(for: .milliseconds(200))
                    }
                }
            }
        },
        .service(
            "nonsending",
            "a function that runs on its caller's actor",
            ["cpu"],
            ["Stall.compute"],
            callers: ["Inherited.compute"],
            request: "inherited"
        ) { @MainActor in
            await withStallContext(name: "inherited") { keep(await Inherited.compute(440)) }
        },
        .service(
            "hop-back",
            "the main actor after another actor",
            ["cpu"],
            ["Stall.compute"],
            callers: ["Window.draw"],
            request: "both"
        ) { @MainActor in
            let window = Window()
            await withStallContext(name: "both") { await window.readAndDraw(Preferences(), 450) }
        },
    ]
}

@MainActor private final class ListModel {
    private var rows: [String] = []

    @inline(never) func appear(_ milliseconds: Int) async {
        await reload(milliseconds)
        rows.append("the last")
    }

    @inline(never) func reload(_ milliseconds: Int) async {
        await Task.yield()
        refresh(milliseconds)
    }

    @inline(never) func refresh(_ milliseconds: Int) {
        StalledTime.begin()
        let deadline = Deadline(milliseconds)
        while !deadline.isOver { rows = (0..<300).map { "row \($0 &* 7)" } }
        StalledTime.end()
    }
}

@MainActor private final class Presenter {
    private var banners = [1]

    @inline(never) func show(_ milliseconds: Int) {
        StalledTime.begin()
        banners.append(milliseconds)
        sleep(milliseconds: milliseconds)
        StalledTime.end()
    }
}

private enum Inherited {
    @inline(never) nonisolated(nonsending) static func compute(_ milliseconds: Int) async -> Int {
        await Task.yield()
        return Stall.compute(for: milliseconds)
    }
}

private actor Preferences {
    private var theme: Int?

    func load() async -> Int {
        await Task.yield()
        let value = theme ?? 1
        theme = value
        return value
    }
}

@MainActor private final class Window {
    private var pixels = 0

    @inline(never) func draw(_ milliseconds: Int) { pixels = Stall.compute(for: milliseconds) }

    @inline(never) func readAndDraw(_ preferences: Preferences, _ milliseconds: Int) async {
        pixels = await preferences.load()
        draw(milliseconds)
    }
}
