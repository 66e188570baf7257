import { type ChildProcess, fork } from 'node:child_process'
import { fileURLToPath } from 'node:url'

/** A run that fails half-way leaves no process behind, a frozen one neither. */
const running = new Set<ChildProcess>()
process.on('exit', () => {
  for (const child of running) child.kill('SIGKILL')
})

export function childOf<Child extends ChildProcess>(child: Child): Child {
  running.add(child)
  child.once('exit', () => running.delete(child))
  return child
}

const JITI = fileURLToPath(new URL('../../node_modules/jiti/lib/jiti-cli.mjs', import.meta.url))

export interface ChildOptions {
  readonly stderr?: 'inherit' | number
  /** Flags of Node. */
  readonly execArgv?: readonly string[]
  /** Put before the command (support/place.ts). */
  readonly within?: readonly string[]
}

/** A process of the tests themselves: TypeScript without a build, its order as the only argument. */
export function forkTypeScript(
  entry: string,
  order: unknown,
  { stderr = 'inherit', execArgv = [], within = [] }: ChildOptions = {},
): ChildProcess {
  const file = fileURLToPath(new URL(entry, import.meta.url))
  const [execPath = process.execPath, ...before] = [...within, process.execPath, ...execArgv]
  return childOf(
    fork(JITI, [file, JSON.stringify(order)], {
      execPath,
      execArgv: before,
      stdio: ['ignore', 'ignore', stderr, 'ipc'],
    }),
  )
}
