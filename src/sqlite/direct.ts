import type { SqliteDb } from './db.js'
import type { EngineCall, SqliteEngine } from './engine.js'

/** Calls an engine in the caller's thread, one transaction per call: for tests and short commands. */
export function callDirectly<Engine extends SqliteEngine>(db: SqliteDb, engine: Engine): EngineCall<Engine> {
  const methods = engine as unknown as Record<string, (...args: unknown[]) => unknown>
  return (async (method: string, ...args: unknown[]) => {
    const run = () => (methods[method] as (...args: unknown[]) => unknown).apply(engine, args)
    if (engine.reads.has(method)) return run()
    try {
      return db.transaction(() => {
        const result = run()
        engine.beforeCommit?.()
        return result
      })
    } catch (error) {
      engine.rolledBack?.()
      throw error
    }
  }) as EngineCall<Engine>
}
