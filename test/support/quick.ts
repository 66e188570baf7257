import childProcess, { ChildProcess } from 'node:child_process'
import { syncBuiltinESMExports } from 'node:module'

function refuse(command: string): never {
  throw new Error(
    `a quick test starts '${command}': add the test file to NEEDS_PROCESSES in test/projects.ts, where npm run test:quick leaves it out`,
  )
}

// Whatever starts a process without waiting for its end (spawn, fork, exec, execFile) comes through the method.
Object.assign(ChildProcess.prototype, { spawn: ({ file }: { file: string }) => refuse(file) })
Object.assign(childProcess, { spawnSync: refuse, execSync: refuse, execFileSync: refuse })
syncBuiltinESMExports()
