"""What the rules for texts look for in languages other than English.

To read an error text in another language, add its phrases here: one row names the rule that they mean the same as.
"""

from typing import NamedTuple


class Translation(NamedTuple):
    """The name of a rule for texts, the language, and the phrases by which it is known there."""

    rule: str
    language: str
    phrases: str


TRANSLATIONS: tuple[Translation, ...] = (
    # German
    Translation("not signed in", "de", "nicht angemeldet"),
    Translation("outside what is allowed", "de", "zugriff verweigert"),
    Translation("exists already", "de", "existiert bereits"),
    Translation("argument missing", "de", "fehlt, erforderlich"),
    Translation("does not exist", "de", "nicht gefunden, existiert nicht"),
    Translation("argument refused", "de", "ungültig*"),
    Translation(
        "file or directory missing", "de", "datei ~ nicht gefunden, verzeichnis ~ nicht gefunden, datei nicht finden"
    ),
    Translation("permission denied by the system", "de", "keine berechtigung"),
    Translation("took too long", "de", "zeitüberschreitung"),
    Translation("no space left", "de", "kein speicherplatz"),
    Translation("connection refused", "de", "verbindungsaufbau abgelehnt"),
    # Spanish
    Translation("rate limited", "es", "límite de solicitudes"),
    Translation("not signed in", "es", "no autorizado"),
    Translation("outside what is allowed", "es", "acceso denegado"),
    Translation("exists already", "es", "ya existe"),
    Translation("argument missing", "es", "es obligatorio"),
    Translation("does not exist", "es", "no encontrado, no existe"),
    Translation("argument refused", "es", "inválid*, no válid*"),
    # French
    Translation("not signed in", "fr", "non autorisé*"),
    Translation("outside what is allowed", "fr", "accès refusé*"),
    Translation("exists already", "fr", "existe déjà"),
    Translation("argument missing", "fr", "est requis"),
    Translation("does not exist", "fr", "introuvable, n'existe pas"),
    Translation("argument refused", "fr", "invalide"),
    # Portuguese
    Translation("does not exist", "pt", "não encontrad*"),
    # Russian
    Translation("does not exist", "ru", "не найден*, не существует"),
    Translation("argument refused", "ru", "неверн*"),
    # Chinese
    Translation("rate limited", "zh", "请求过于频繁, 请求过多"),
    Translation("request timed out", "zh", "请求超时, 连接超时"),
    Translation("network trouble", "zh", "网络错误, 网络连接失败"),
    Translation("file or directory missing", "zh", "找不到文件, 文件不存在"),
    Translation("permission denied by the system", "zh", "权限不足, 拒绝访问, 没有权限"),
    Translation("not signed in", "zh", "未授权, 未登录"),
    Translation("outside what is allowed", "zh", "禁止访问"),
    Translation("service unavailable", "zh", "服务不可用"),
    Translation("exists already", "zh", "已存在"),
    Translation("input not understood", "zh", "解析失败"),
    Translation("argument missing", "zh", "缺少, 不能为空, 必填"),
    Translation("does not exist", "zh", "不存在, 找不到, 未找到"),
    Translation("try again later", "zh", "稍后重试, 请稍后"),
    Translation("argument refused", "zh", "无效, 参数错误"),
    Translation("took too long", "zh", "超时"),
    Translation("internal error", "zh", "内部错误"),
    # Japanese
    Translation("rate limited", "ja", "レート制限"),
    Translation("file or directory missing", "ja", "ファイルが見つかりません"),
    Translation("outside what is allowed", "ja", "アクセスが拒否"),
    Translation("service unavailable", "ja", "サービス利用不可"),
    Translation("exists already", "ja", "既に存在"),
    Translation("argument missing", "ja", "必須"),
    Translation("does not exist", "ja", "見つかりません"),
    Translation("argument refused", "ja", "不正"),
    Translation("request timed out", "ja", "タイムアウト"),
)
"""One row per rule and language."""
