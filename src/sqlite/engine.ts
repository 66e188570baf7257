/**
 * SQLite is synchronous, and its calls must not run on the fetch loop (writers were seen waiting 1.8 s). So each driver is an engine,
 * a class of plain synchronous methods, and a thin asynchronous front that calls it through an EngineCall: across a thread in the
 * product, directly in unit tests.
 *
 * The caller of an engine method opens the transaction (several calls share one), so an engine never begins or commits; a method that
 * throws must be safe to roll back and repeat.
 */
export type EngineCall<Engine> = <Method extends MethodNames<Engine>>(
  method: Method,
  ...args: Engine[Method] extends (...args: infer Args) => unknown ? Args : never
) => Promise<Engine[Method] extends (...args: never[]) => infer Result ? Result : never>

type MethodNames<Engine> = {
  [Name in keyof Engine]: Engine[Name] extends (...args: never[]) => unknown ? Name : never
}[keyof Engine]

/** What the thread needs to know of an engine. */
export interface SqliteEngine {
  /** Methods that only read: they need no write lock. */
  readonly reads: ReadonlySet<string>
  /** Writes what the calls of the transaction have deferred. */
  beforeCommit?(): void
  /** The transaction was rolled back: nothing learned inside it is true. */
  rolledBack?(): void
}

/** An engine as its front shows it: the same methods, asynchronous. */
type Asynchronous<Engine> = {
  [Name in MethodNames<Engine>]: Engine[Name] extends (...args: infer Args) => infer Result
    ? (...args: Args) => Promise<Result>
    : never
}

/** The methods of a front that only pass a call on. */
export function forward<Engine, Name extends MethodNames<Engine>>(
  call: EngineCall<Engine>,
  ...names: readonly Name[]
): Pick<Asynchronous<Engine>, Name> {
  const plain = call as unknown as (method: Name, ...args: readonly unknown[]) => Promise<unknown>
  const methods = names.map((name) => [name, (...args: unknown[]) => plain(name, ...args)] as const)
  return Object.fromEntries(methods) as unknown as Pick<Asynchronous<Engine>, Name>
}
