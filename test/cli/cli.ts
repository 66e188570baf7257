import { type CliOptions, runCli, startCli } from '../support/cli.js'

export interface CliResult {
  readonly code: number | null
  readonly out: string
  readonly err: string
}

export interface RunningCli {
  readonly ended: Promise<CliResult>
  kill(signal: NodeJS.Signals): void
  /** Resolves when the condition holds; the command must still run then. */
  until(holds: () => Promise<boolean>): Promise<void>
}

/** Starts the built command line with pipes, as a program would. */
export function startShoal(args: readonly string[], options: CliOptions = {}): RunningCli {
  const { child, result } = startCli(args, options)
  return {
    ended: result.then(({ code, stdout, stderr }) => ({ code, out: stdout, err: stderr })),
    kill: (signal) => void child.kill(signal),
    async until(holds) {
      while (!(await holds())) {
        if (child.exitCode === null) continue
        const { stdout, stderr } = await result
        throw new Error(`it ended too early with ${child.exitCode}: ${stderr}${stdout}`)
      }
    },
  }
}

export async function shoal(args: readonly string[], options: CliOptions = {}): Promise<CliResult> {
  const { code, stdout, stderr } = await runCli(args, options)
  return { code, out: stdout, err: stderr }
}
