"""Wordings in languages other than English.

To read an error text in another language, add its phrases here: one row names the rule that they mean the same as.
Write out the forms of a word, `(gefunden|finden)`: a whole word is found faster than a beginning.
"""

from typing import NamedTuple


class Translation(NamedTuple):
    """The name of a rule for texts, the language, and the phrases by which it is known there."""

    rule: str
    language: str
    phrases: str


LANGUAGES: dict[str, str] = {
    "de": "German",
    "fr": "French",
    "es": "Spanish",
    "pt": "Portuguese",
    "it": "Italian",
    "ru": "Russian",
    "zh": "Chinese, simplified and traditional",
    "ja": "Japanese",
    "ko": "Korean",
}
"""The languages of the translations, by their codes."""

TRANSLATIONS: tuple[Translation, ...] = (
    # German
    Translation(
        "rate limited",
        "de",
        "zu viele (anfragen|aufrufe|versuche|zugriffe), anfragelimit, ratenlimit, ratenbegrenzung",
    ),
    Translation(
        "not signed in",
        "de",
        "nicht (angemeldet|authentifiziert|eingeloggt|autorisiert), "
        "(anmeldung|authentifizierung) (erforderlich|fehlgeschlagen), "
        "ungültige (anmeldedaten|zugangsdaten)",
    ),
    Translation(
        "outside what is allowed",
        "de",
        "zugriff (wurde)? (verweigert|abgelehnt), nicht (berechtigt|erlaubt|gestattet), "
        "(fehlende|unzureichende) (berechtigung|berechtigungen|rechte)",
    ),
    Translation(
        "exists already",
        "de",
        "existiert (bereits|schon), (bereits|schon) (vorhanden|vergeben|belegt|registriert)",
    ),
    Translation(
        "argument missing",
        "de",
        "fehlt, erforderlich, (pflichtfeld|pflichtangabe|pflichtparameter), "
        "(muss|müssen) angegeben werden, darf nicht leer sein, wird benötigt, "
        "(fehlende|fehlender|fehlendes) (parameter|feld|angabe|argument|wert)",
    ),
    Translation(
        "does not exist",
        "de",
        "(kein|keine|keinen) ~ gefunden, nicht (gefunden|auffindbar|vorhanden), existiert nicht, "
        "existieren nicht, (konnte|konnten|kann) ~ nicht ~ (gefunden|finden), gibt es nicht",
    ),
    Translation(
        "argument refused",
        "de",
        "(einen|eine|ein) gültigen, (einen|eine|ein) gültige, ungültig*, unzulässig*, nicht gültig, "
        "(kein|keine) gültig*, falsches format",
    ),
    Translation(
        "file or directory missing",
        "de",
        "datei ~ nicht gefunden, verzeichnis ~ nicht gefunden, datei nicht finden",
    ),
    Translation("permission denied by the system", "de", "keine (berechtigung|berechtigungen|rechte|zugriffsrechte)"),
    Translation(
        "request timed out",
        "de",
        "zeitlimit ~ (überschritten|erreicht), (anfrage|anforderung) ~ zu lange gedauert",
    ),
    Translation("took too long", "de", "zeitüberschreitung, zu lange gedauert"),
    Translation(
        "service unavailable",
        "de",
        "antwortet nicht, (wegen|aufgrund) ~ wartung, "
        "(derzeit|momentan|vorübergehend|zurzeit) nicht (verfügbar|erreichbar), "
        "(dienst|server|service) ~ nicht (verfügbar|erreichbar), wartungsarbeiten",
    ),
    Translation("no space left", "de", "kein speicherplatz"),
    Translation(
        "connection refused",
        "de",
        "verbindungsaufbau abgelehnt, verbindung (wurde)? (abgelehnt|verweigert)",
    ),
    Translation(
        "internal error",
        "de",
        "interner (fehler|serverfehler), unerwarteter fehler, unbekannter fehler, fehler ist aufgetreten",
    ),
    # French
    Translation("rate limited", "fr", "trop de (requêtes|demandes|tentatives|appels), limite de (requêtes|débit)"),
    Translation(
        "not signed in",
        "fr",
        "non (autorisé|autorisée|authentifié|authentifiée|connecté|connectée), "
        "authentification (requise|échouée|nécessaire), échec de l authentification, "
        "identifiants (invalides|incorrects), devez vous connecter",
    ),
    Translation(
        "outside what is allowed",
        "fr",
        "accès ~ interdit, pas les (droits|autorisations|permissions), "
        "accès (refusé|refusée|interdit|limité), permission refusée, "
        "(droits|autorisations|permissions) (insuffisants|insuffisantes), "
        "pas (autorisé|autorisée|autorisés), pas la permission, pas le droit, opération interdite",
    ),
    Translation(
        "exists already",
        "fr",
        "existe déjà, existent déjà, "
        "déjà (existant|existante|utilisé|utilisée|présent|présente|pris|prise|enregistré|enregistrée)",
    ),
    Translation(
        "argument missing",
        "fr",
        "veuillez (renseigner|saisir|indiquer|fournir), "
        "(est|sont) (requis|requise|requises|obligatoire|obligatoires), "
        "(champ|paramètre|argument|valeur) (requis|requise|obligatoire|manquant|manquante), "
        "(manquant|manquante|manquants), (peut|doit) pas être vide, "
        "doit être (renseigné|renseignée|fourni|fournie)",
    ),
    Translation(
        "does not exist",
        "fr",
        "(aucun|aucune) ~ (trouvé|trouvée), (introuvable|introuvables), n'existe pas, n'existent pas, "
        "(non|pas) (trouvé|trouvée|trouvés|trouvées), pas été (trouvé|trouvée|trouvés|trouvées), "
        "impossible de trouver, (inexistant|inexistante)",
    ),
    Translation(
        "argument refused",
        "fr",
        "(invalide|invalides), (non|pas) (valide|valides), incorrecte, format incorrect",
    ),
    Translation(
        "request timed out",
        "fr",
        "délai ~ (dépassé|expiré|écoulé), (requête|demande|connexion) a expiré, expiration du délai, temps ~ dépassé",
    ),
    Translation(
        "service unavailable",
        "fr",
        "ne répond pas, (indisponible|indisponibles|injoignable), "
        "(non|pas) (disponible|joignable|accessible), en maintenance",
    ),
    Translation("connection refused", "fr", "connexion refusée"),
    Translation(
        "internal error",
        "fr",
        "erreur (interne|inattendue|inconnue), erreur (du)? serveur, erreur est survenue, erreur s'est produite",
    ),
    # Spanish
    Translation(
        "rate limited",
        "es",
        "demasiadas (solicitudes|peticiones|llamadas|consultas), demasiados (intentos|pedidos), "
        "límite de (solicitudes|peticiones|llamadas|velocidad|frecuencia|tasa)",
    ),
    Translation(
        "not signed in",
        "es",
        "no (autorizado|autorizada|autenticado|autenticada|identificado), "
        "autenticación (requerida|fallida|necesaria), credenciales (inválidas|incorrectas), "
        "iniciar sesión, inicie sesión, sesión (expirada|caducada)",
    ),
    Translation(
        "outside what is allowed",
        "es",
        "no ~ permisos (suficientes|necesarios), acceso (denegado|prohibido|restringido), "
        "permiso (denegado|insuficiente), permisos insuficientes, "
        "(tiene|tienes|sin) (permiso|permisos|autorización), no (está|estás) autorizado, "
        "operación prohibida",
    ),
    Translation(
        "exists already",
        "es",
        "ya (existe|existen|existente|registrado|registrada), ya está (registrado|registrada|en uso)",
    ),
    Translation(
        "argument missing",
        "es",
        "introduzca (el|la|un|una), "
        "(es|son) (obligatorio|obligatoria|obligatorios|obligatorias|requerido|requerida|necesario|necesaria), "
        "(campo|parámetro|argumento) (obligatorio|requerido|faltante), falta (el|la|un|una), "
        "faltan (los|las), puede estar (vacío|vacía), se requiere",
    ),
    Translation(
        "does not exist",
        "es",
        "(ningún|ninguna) ~ (encontrado|encontrada), no ~ encontrar, "
        "no (encontrado|encontrada|encontrados|encontradas|existe|existen), "
        "no se (encontró|encontraron|encuentra), no se ha (encontrado|podido encontrar), "
        "no se pudo encontrar, inexistente",
    ),
    Translation(
        "argument refused",
        "es",
        "un valor válido, (inválido|inválida|inválidos|inválidas), no (válido|válida|válidos|válidas), "
        "no es (válido|válida), (incorrecto|incorrecta)",
    ),
    Translation(
        "request timed out",
        "es",
        "tiempo de espera ~ (agotado|excedido|superado|expirado), tiempo (agotado|excedido), "
        "se agotó el tiempo, (solicitud|petición) ~ (caducó|expiró)",
    ),
    Translation(
        "service unavailable",
        "es",
        "no responde, no (disponible|disponibles), no está disponible, fuera de servicio, en mantenimiento",
    ),
    Translation("connection refused", "es", "conexión (rechazada|denegada)"),
    Translation(
        "internal error",
        "es",
        "error interno, error (inesperado|desconocido), (ocurrió|ocurrido|produjo|producido) un error, "
        "error del servidor",
    ),
    # Portuguese
    Translation(
        "rate limited",
        "pt",
        "(muitas|demasiadas) (solicitações|requisições|tentativas|chamadas), muitos pedidos, "
        "limite de (requisições|solicitações|pedidos|chamadas|taxa)",
    ),
    Translation(
        "not signed in",
        "pt",
        "não (autenticado|autenticada|logado), autenticação (necessária|obrigatória|falhou), "
        "credenciais (inválidas|incorretas), fazer login, faça login, sessão expirada",
    ),
    Translation(
        "outside what is allowed",
        "pt",
        "acesso (negado|proibido|recusado), permissão (negada|insuficiente), permissões insuficientes, "
        "sem (permissão|autorização), não (tem|possui) (permissão|autorização|acesso), "
        "não (autorizado|autorizada|permitido|permitida)",
    ),
    Translation(
        "exists already",
        "pt",
        "já (existe|existem|existente|cadastrado|cadastrada|registrado|registrada), já está em uso",
    ),
    Translation(
        "argument missing",
        "pt",
        "preencha (o|a|os), informe (o|a|um|uma), "
        "(é|são) (obrigatório|obrigatória|obrigatórios|necessário|necessária|requerido), "
        "(campo|parâmetro|argumento) (obrigatório|ausente|faltando), "
        "pode (ser|estar|ficar) (vazio|vazia|nulo), deve ser (informado|informada|fornecido|preenchido), "
        "(está|estão) faltando",
    ),
    Translation(
        "does not exist",
        "pt",
        "(nenhum|nenhuma) ~ (encontrado|encontrada), não ~ encontrar, "
        "não (encontrado|encontrada|encontrados|encontradas|existe|existem|localizado|localizada), "
        "não foi (encontrado|encontrada|possível encontrar|possível localizar), "
        "não foram (encontrados|encontradas), inexistente",
    ),
    Translation(
        "argument refused",
        "pt",
        "(inválido|inválida|inválidos|inválidas), não (é)? (válido|válida), (incorreto|incorreta)",
    ),
    Translation(
        "request timed out",
        "pt",
        "tempo (limite)? ~ (esgotado|excedido|atingido), (solicitação|requisição|conexão) expirou",
    ),
    Translation(
        "service unavailable",
        "pt",
        "não (responde|respondeu), (indisponível|indisponíveis), não (está)? disponível, fora do ar, em manutenção",
    ),
    Translation("connection refused", "pt", "conexão (recusada|rejeitada)"),
    Translation(
        "internal error",
        "pt",
        "erro interno, erro (inesperado|desconhecido), ocorreu um erro, erro (do|no) servidor",
    ),
    # Italian
    Translation(
        "rate limited",
        "it",
        "troppe (richieste|chiamate), troppi tentativi, limite di (richieste|chiamate|frequenza)",
    ),
    Translation(
        "not signed in",
        "it",
        "non (autenticato|autenticata), autenticazione (richiesta|necessaria|fallita), "
        "credenziali (errate|non valide), effettuare (il)? (login|accesso), sessione scaduta",
    ),
    Translation(
        "outside what is allowed",
        "it",
        "non ~ (permessi|autorizzazioni|diritti) necessari, non permessa, non permesso, "
        "accesso (negato|vietato), accesso non (autorizzato|consentito), "
        "(permesso|autorizzazione) (negato|negata), (permessi|privilegi|autorizzazioni) insufficienti, "
        "non (sei|è)? (autorizzato|autorizzata|consentito|consentita)",
    ),
    Translation(
        "exists already",
        "it",
        "esiste già, esistono già, già (esistente|presente|registrato|registrata|utilizzato), già in uso",
    ),
    Translation(
        "argument missing",
        "it",
        "(inserisci|inserire) (il|la|un|una), "
        "(è|sono) (obbligatorio|obbligatoria|obbligatori|richiesto|richiesta|necessario|necessaria), "
        "(campo|parametro|argomento) (obbligatorio|richiesto|mancante), (mancante|mancanti), "
        "può essere (vuoto|vuota), manca (il|la|un|una|lo)",
    ),
    Translation(
        "does not exist",
        "it",
        "(nessun|nessuna|nessuno) ~ (trovato|trovata), "
        "non (trovato|trovata|trovati|trovate|esiste|esistono), non è stato trovato, "
        "non è stata trovata, impossibile trovare, inesistente",
    ),
    Translation(
        "argument refused",
        "it",
        "un valore valido, non (ammesso|ammessa), non (è)? (valido|valida|validi|valide), (errato|errata)",
    ),
    Translation(
        "request timed out",
        "it",
        "tempo ~ (scaduto|esaurito|superato), richiesta scaduta, impiegato troppo tempo",
    ),
    Translation(
        "service unavailable",
        "it",
        "non (risponde|ha risposto), non (è)? (disponibile|raggiungibile|disponibili), in manutenzione, fuori servizio",
    ),
    Translation("connection refused", "it", "connessione (rifiutata|respinta)"),
    Translation(
        "internal error",
        "it",
        "errore interno, errore (imprevisto|inatteso|sconosciuto), verificato un errore, errore del server",
    ),
    # Russian
    Translation("rate limited", "ru", "слишком много (запросов|попыток|обращений), лимит запросов, слишком часто"),
    Translation(
        "not signed in",
        "ru",
        "не (авторизован|авторизована|авторизованы|аутентифицирован), "
        "требуется (авторизация|аутентификация|вход), ошибка (авторизации|аутентификации), "
        "неверный (пароль|логин), необходимо войти",
    ),
    Translation(
        "outside what is allowed",
        "ru",
        "доступ ~ (запрещён|запрещен|закрыт|ограничен), доступ (запрещён|запрещен|закрыт|ограничен), "
        "отказано в доступе, доступе отказано, "
        "(нет|недостаточно) (прав|доступа|разрешения|разрешений|полномочий), не разрешено",
    ),
    Translation(
        "exists already",
        "ru",
        "уже (существует|существуют|занят|занято|занята|зарегистрирован|зарегистрирована|используется)",
    ),
    Translation(
        "argument missing",
        "ru",
        "(обязателен|обязательна|обязательно|обязательны|обязательный|обязательное), "
        "не (указан|указана|указано|указаны|задан|задана|задано|передан|передано), "
        "быть (пустым|пустой|пустыми), (необходимо|нужно|требуется) указать, "
        "отсутствует (параметр|поле|аргумент)",
    ),
    Translation(
        "does not exist",
        "ru",
        "не (найден|найдена|найдено|найдены|существует|существуют), не (удалось|удаётся|удается) найти",
    ),
    Translation(
        "argument refused",
        "ru",
        "введите (корректное|корректный|правильное|правильный|верное), "
        "(неверный|неверная|неверное|неверные|неверно), "
        "(недопустимый|недопустимая|недопустимое|недопустимые), "
        "(некорректный|некорректная|некорректное|некорректные), "
        "(неправильный|неправильная|неправильное|неправильные)",
    ),
    Translation("request timed out", "ru", "(превышено|истекло) время, время ~ истекло, тайм-аут, таймаут"),
    Translation(
        "service unavailable",
        "ru",
        "техническом обслуживании, (недоступен|недоступна|недоступно|недоступны), не отвечает, "
        "(на|ведутся) (обслуживании|технические работы)",
    ),
    Translation("connection refused", "ru", "в соединении отказано, соединение отклонено"),
    Translation(
        "internal error",
        "ru",
        "внутренняя ошибка, (непредвиденная|неизвестная) ошибка, (произошла|возникла) ошибка, ошибка сервера",
    ),
    # Chinese, simplified and traditional
    Translation(
        "rate limited",
        "zh",
        "请求过于频繁, 请求过多, 请求太多, 请求次数过多, 访问过于频繁, 操作过于频繁, 频率限制, 速率限制, "
        "限流, 請求過於頻繁, 請求過多, 請求太多, 請求次數過多, 存取過於頻繁, 操作過於頻繁, 頻率限制",
    ),
    Translation("request timed out", "zh", "请求超时, 连接超时, 請求逾時, 請求超時, 連線逾時, 要求逾時"),
    Translation("network trouble", "zh", "网络错误, 网络连接失败, 網路錯誤, 網路連線失敗"),
    Translation("file or directory missing", "zh", "找不到文件, 文件不存在, 找不到檔案, 檔案不存在"),
    Translation(
        "permission denied by the system",
        "zh",
        "权限不足, 拒绝访问, 没有权限, 無權限, 無權, 权限不够, 无权, 訪問被拒, 访问被拒, 權限不足, "
        "拒絕存取, 拒絕訪問, 存取被拒, 沒有權限",
    ),
    Translation(
        "not signed in",
        "zh",
        "未授权, 未登录, 需要登录, 请先登录, 认证失败, 身份验证失败, 未授權, 未登入, 需要登入, 請先登入, "
        "認證失敗, 身分驗證失敗",
    ),
    Translation(
        "outside what is allowed",
        "zh",
        "没有访问权限, 沒有存取權限, 被禁用, 已禁用, 被停用, 禁止访问, 禁止存取, 禁止訪問, 不允许, 不允許",
    ),
    Translation(
        "service unavailable",
        "zh",
        "无响应, 無回應, 没有响应, 沒有回應, 服务不可用, 暂时不可用, 暂不可用, 维护中, 服務不可用, "
        "暫時無法使用, 暫時不可用, 無法提供服務, 維護中",
    ),
    Translation("exists already", "zh", "已存在, 已经存在, 已被使用, 已被占用, 已經存在, 已被佔用"),
    Translation("input not understood", "zh", "解析失败, 解析失敗"),
    Translation(
        "argument missing",
        "zh",
        "缺少, 不能为空, 必填, 必须提供, 必需, 请提供, 请输入, 不能為空, 不可為空, 必須提供, 請提供, 請輸入",
    ),
    Translation(
        "does not exist",
        "zh",
        "不存在, 找不到, 未找到, 没有找到, 无法找到, 沒有找到, 無法找到, 查無, 查无, 无相关, 無相關, 无结果, 無結果",
    ),
    Translation("try again later", "zh", "稍后重试, 请稍后, 稍後再試, 請稍後"),
    Translation(
        "argument refused",
        "zh",
        "无效, 参数错误, 不合法, 格式错误, 不正确, 無效, 參數錯誤, 格式錯誤, 不正確",
    ),
    Translation("took too long", "zh", "超时, 超時, 逾時"),
    Translation("connection refused", "zh", "连接被拒绝, 拒绝连接, 連線被拒, 拒絕連線"),
    Translation(
        "internal error",
        "zh",
        "内部错误, 服务器错误, 系统错误, 未知错误, 內部錯誤, 伺服器錯誤, 系統錯誤, 未知錯誤",
    ),
    # Japanese
    Translation(
        "rate limited",
        "ja",
        "レート制限, リクエストが多すぎ, リクエスト数が多すぎ, リクエスト制限, 回数制限",
    ),
    Translation("file or directory missing", "ja", "ファイルが見つかりません"),
    Translation(
        "not signed in",
        "ja",
        "認証が必要, 認証に失敗, 認証エラー, ログインが必要, ログインして, 認証されていません, 未認証",
    ),
    Translation(
        "outside what is allowed",
        "ja",
        "アクセスが拒否, アクセス拒否, アクセスできません, 権限がありません, 権限がない, 権限が不足, "
        "権限が必要, 許可されていません, 許可がありません, 禁止され",
    ),
    Translation(
        "service unavailable",
        "ja",
        "応答しません, 応答がありません, サービス利用不可, 利用できません, 利用不可, メンテナンス中, 応答していません",
    ),
    Translation("exists already", "ja", "既に存在, すでに存在, 既に使用, すでに使用, 既に登録, すでに登録"),
    Translation(
        "argument missing",
        "ja",
        "必須, 指定してください, 入力してください, 指定されていません, 入力されていません, 空にできません",
    ),
    Translation("does not exist", "ja", "見つかりません, 見つからない, 存在しません, 存在しない"),
    Translation("argument refused", "ja", "不正, 無効, 正しくありません, 正しくない"),
    Translation("request timed out", "ja", "タイムアウト, 時間切れ"),
    Translation("connection refused", "ja", "接続が拒否, 接続を拒否"),
    Translation(
        "internal error",
        "ja",
        "内部エラー, サーバーエラー, サーバエラー, 予期しないエラー, 予期せぬエラー, 不明なエラー, エラーが発生",
    ),
    # Korean
    Translation("rate limited", "ko", "요청이 너무 많, 너무 많은 요청, 요청 한도, 호출 한도, 속도 제한, 요청 제한"),
    Translation("not signed in", "ko", "인증이 필요, 인증에 실패, 인증 실패, 로그인이 필요, 인증되지 않, 인증 오류"),
    Translation(
        "outside what is allowed",
        "ko",
        "권한이 필요, 접근이 거부, 액세스가 거부, 접근 거부, 권한이 없, 권한 없음, 권한이 부족, "
        "권한 부족, 허용되지 않, 접근할 수 없",
    ),
    Translation("exists already", "ko", "이미 존재, 이미 사용, 이미 등록, 이미 있"),
    Translation("argument missing", "ko", "필수, 누락, 입력해 주세요, 입력하세요, 지정해야, 비어 있을 수 없"),
    Translation("does not exist", "ko", "찾을 수 없, 존재하지 않, 찾지 못"),
    Translation("argument refused", "ko", "잘못된, 유효하지 않, 올바르지 않"),
    Translation("request timed out", "ko", "시간 초과, 시간이 초과, 타임아웃"),
    Translation(
        "service unavailable",
        "ko",
        "응답하지 않, 응답이 없, 다시 시도해, 서비스를 이용할 수 없, 서비스를 사용할 수 없, "
        "현재 사용할 수 없, 현재 이용할 수 없, 점검 중",
    ),
    Translation("connection refused", "ko", "연결이 거부"),
    Translation(
        "internal error",
        "ko",
        "내부 오류, 내부 서버 오류, 서버 오류, 예기치 않은 오류, 예상치 못한 오류, 알 수 없는 오류, 오류가 발생",
    ),
)
"""One row per rule and language."""
