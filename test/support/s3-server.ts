import { endProcess, freePort, startServerProcess } from './server-process.js'

/**
 * An S3 service in a process of its own (fauxqs 1.9.2), objects in memory, on loopback. It is an emulator, and what it lacks is tested on the
 * request instead (test/store/s3/s3-requests.test.ts):
 *  - it does not look at `If-None-Match: *` of a put, so that two may both believe to be first;
 *  - it loses `Content-Encoding`, which Shoal does not use;
 *  - it knows no credentials, signatures or regions, and is never busy: such answers are made by hand there.
 */
export interface S3Server {
  readonly port: number
  readonly endpoint: string
  /** Of a bucket that exists, at this server or at the port of a proxy in front of it. */
  address(prefix?: string, port?: number): string
  end(): Promise<void>
}

const BUCKET = 'shoal-test'

/** The emulator takes any; the SDK wants some. */
export const CREDENTIALS = { AWS_ACCESS_KEY_ID: 'test', AWS_SECRET_ACCESS_KEY: 'test', AWS_REGION: 'us-east-1' }

const SCRIPT = `
import { buildApp } from 'fauxqs'
const port = Number(process.argv[1])
await buildApp({ logger: false }).listen({ port, host: '127.0.0.1' })
await fetch('http://127.0.0.1:' + port + '/${BUCKET}', { method: 'PUT' })
console.log('ready on ' + port)
`

export async function startS3(): Promise<S3Server> {
  const port = await freePort()
  const child = await startServerProcess({
    command: process.execPath,
    args: ['--input-type=module', '-e', SCRIPT, String(port)],
    ready: /ready on/,
    madeDir: '',
  })
  return {
    port,
    endpoint: `http://127.0.0.1:${port}`,
    address: (prefix = '', at = port) => `s3://${BUCKET}/${prefix}?endpoint=http://127.0.0.1:${at}&region=us-east-1`,
    end: () => endProcess(child, 'SIGKILL'),
  }
}
