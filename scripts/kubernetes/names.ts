/** Names that manifests, patches and documents share. Ports, user and folders are those of the image (Dockerfile). */
export const DASHBOARD_PORT = 7373
export const METRICS_PORT = 9464
export const USER = 10001
export const SPIDERS_FOLDER = '/spiders'
export const SECRETS_FOLDER = '/run/secrets/shoal'

export const IMAGE = 'shoal'
export const SETTINGS = 'shoal-settings'
export const SECRETS = 'shoal-secrets'
export const SERVICE_ACCOUNT = 'shoal'
/** Passwords of the Redis and Postgres in components/redis-postgres. */
export const BACKEND_SECRETS = 'shoal-backends'

export type Part = 'worker' | 'scheduler' | 'dashboard' | 'redis' | 'postgres'

export function nameOf(part: Part): string {
  return `shoal-${part}`
}

/** What selects the pods of one part. Selectors cannot change after the first apply, so nothing that may change belongs here. */
export function labelsOf(part: Part): Record<string, string> {
  return { ...FLEET, 'app.kubernetes.io/component': part }
}

/** What every pod of a fleet has, whatever its part. */
export const FLEET = { 'app.kubernetes.io/name': 'shoal' }
