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

/** A process of the tests themselves: TypeScript without a build, its order as the only argument. */
export function forkTypeScript(
  entry: string,
  order: unknown,
  { stderr = 'inherit', execArgv = [] }: { stderr?: 'inherit' | number; execArgv?: readonly string[] } = {},
): ChildProcess {
  const file = fileURLToPath(new URL(entry, import.meta.url))
  return childOf(
    fork(JITI, [file, JSON.stringify(order)], { execArgv: [...execArgv], stdio: ['ignore', 'ignore', stderr, 'ipc'] }),
  )
}
